"""Shapes that host code builds from lists, and extents that a check says by an expression."""

from __future__ import annotations

from pathlib import Path

from kernel_lineage.workloads.model import Draft
from workloads.following.first_drafts import first_draft

COPY = (
    "__global__ void copy(const float* x, float* y, int n) { int i = threadIdx.x; if (i < n) y[i] = x[i]; }\n"
)


def _draft(tmp_path: Path, host: str) -> Draft:
    return first_draft(tmp_path, COPY + host, "copy")


def _shapes(draft: Draft) -> dict[str, tuple[str, ...] | None]:
    return {a.name: a.shape for a in draft.arguments if a.kind != "scalar"}


def test_a_shape_is_built_from_the_sizes_of_a_tensor(tmp_path: Path) -> None:
    draft = _draft(
        tmp_path,
        "at::Tensor f(at::Tensor x, at::Tensor w) { int m = x.size(0), k = x.size(1), n = w.size(1);"
        " auto shape = x.sizes().vec(); shape.push_back(n); shape.front() = m; shape[1] = k / 2;"
        " at::Tensor y = at::empty(shape, x.options());"
        " copy<<<x.sizes().back(), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), n); return y; }",
    )
    assert _shapes(draft) == {"x": ("m", "k"), "y": ("m", "k // 2", "n")}
    assert draft.grid == ("k",)


def test_a_pair_of_a_caller_has_two_numbers(tmp_path: Path) -> None:
    draft = _draft(
        tmp_path,
        "at::Tensor f(at::Tensor x, std::pair<int, int> stride, std::pair<int64_t, int64_t> out) {"
        " int n = x.size(0); auto y = at::empty({out.first, out.second}, x.options());"
        " copy<<<n / stride.second, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), n); return y; }",
    )
    assert _shapes(draft)["y"] == ("out_0", "out_1")
    assert draft.grid == ("n",)


def test_a_list_of_extents_is_a_size_of_its_own(tmp_path: Path) -> None:
    draft = _draft(
        tmp_path,
        "void f(at::Tensor x, at::Tensor y, at::IntArrayRef normalized) {"
        " int64_t n = 1; for (auto s : normalized) n *= s;"
        " copy<<<x.numel() / n, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), n); }",
    )
    assert next(a.value for a in draft.arguments if a.name == "n") == "normalized"


def test_what_a_loop_sets_that_cannot_be_followed_is_not_taken_for_what_it_was(tmp_path: Path) -> None:
    draft = _draft(
        tmp_path,
        "void f(at::Tensor x, at::Tensor y, Strange all) {"
        " int n = 1; for (auto s : all) n *= s.extent();"
        " copy<<<4, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), n); }",
    )
    assert next(a.value for a in draft.arguments if a.name == "n") != "1"


def test_an_extent_that_a_check_says_by_an_expression_is_that_expression(tmp_path: Path) -> None:
    draft = _draft(
        tmp_path,
        "void f(at::Tensor x, at::Tensor y) { int n = x.size(1);"
        " TORCH_CHECK(y.dim() == 2 && y.size(1) == n / 2 && x.size(0) == y.size(0));"
        " copy<<<y.size(0), y.size(1)>>>(x.data_ptr<float>(), y.data_ptr<float>(), n); }",
    )
    assert _shapes(draft)["y"] is not None
    assert _shapes(draft)["y"][1:] == ("n // 2",)  # type: ignore[index]
    assert not draft.promises


def test_what_leaves_is_denied_part_by_part(tmp_path: Path) -> None:
    draft = _draft(
        tmp_path,
        "void f(const float* x, float* y, int n, int m, int k) {"
        " if (n != m || k < n || !(k % 8 == 0)) return;"
        " copy<<<m, 32>>>(x, y, n * k); }",
    )
    assert draft.grid == ("n",)
    assert set(draft.dims) == {"n", "k"}
    assert {p.replace(" ", "") for p in draft.promises} == {"k>=n", "k%8==0"}
    assert draft.dims["k"] >= draft.dims["n"] and draft.dims["k"] % 8 == 0


def test_a_part_of_a_buffer_is_counted_in_elements_of_its_own_type(tmp_path: Path) -> None:
    text = """
__global__ void copy(const float2* x, float2* y, int n) { int i = threadIdx.x; if (i < n) y[i] = x[i]; }
int main() {
  int n = 90;
  float* all;
  cudaMalloc(&all, 6 * n * sizeof(float));
  copy<<<1, 96>>>((float2*)all, (float2*)all + n, n);
}
"""
    assert _shapes(first_draft(tmp_path, text, "copy")) == {"x": ("n", "6"), "y": ("n * 6 - n * 2",)}


def test_a_number_of_extents_that_nothing_tells_is_said(tmp_path: Path) -> None:
    draft = _draft(
        tmp_path,
        "at::Tensor f(at::Tensor x) { auto y = at::empty_like(x); int n = x.size(0);"
        " for (int i = 1; i < x.dim(); ++i) n *= x.size(i);"
        " copy<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), n); return y; }",
    )
    assert "x is taken to have 2 extents: nothing tells how many" in draft.assumed
