"""Lists of tensors that a caller gives a function of an extension."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.model import Draft
from workloads.following.first_drafts import first_draft

COPY = (
    "__global__ void copy(const float* x, float* y, long n)"
    " { long i = blockIdx.x * 256L + threadIdx.x; if (i < n) y[i] = x[i]; }\n"
)
COUNTED = """
  const int count = static_cast<int>(xs.size());
  for (int i = 0; i < count; i++) {
    at::Tensor x = xs.at(i);
    if (x.numel() == 0) continue;
    int64_t n = x.numel();
"""
LAUNCH = "copy<<<(n + 255) / 256, 256>>>"


def _draft(folder: Path, host: str) -> Draft:
    return first_draft(folder, COPY + host, "copy")


def _shapes(draft: Draft) -> dict[str, tuple[str, ...] | None]:
    return {a.name: a.shape for a in draft.arguments if a.kind != "scalar"}


@pytest.mark.parametrize(
    "kind",
    [
        "std::vector<torch::Tensor>",
        "const std::vector<at::Tensor>&",
        "at::TensorList",
        "at::ArrayRef<at::Tensor>",
    ],
)
@pytest.mark.parametrize(
    "loop",
    [
        "for (const auto& x : xs) { auto n = x.numel();",
        "for (size_t i = 0; i < xs.size(); ++i) { const auto x = xs[i]; long n = x.numel();",
        COUNTED,
    ],
    ids=["range", "index", "at"],
)
def test_each_tensor_of_a_list_is_launched_alike(tmp_path: Path, kind: str, loop: str) -> None:
    body = f"{LAUNCH}(x.data_ptr<float>(), x.data_ptr<float>(), n);"
    draft = _draft(tmp_path, f"void run({kind} xs) {{ {loop} {body} }} }}")
    assert (draft.missing, draft.grid) == ((), ("ceil_div(n, 256)",))
    assert _shapes(draft) == {"x": ("n",), "y": ("n",)}


def test_lists_side_by_side_hold_tensors_of_their_own(tmp_path: Path) -> None:
    draft = _draft(
        tmp_path,
        "void run(std::vector<at::Tensor> from, std::vector<at::Tensor> to) {"
        ' TORCH_CHECK(from.size() == to.size(), "as many"); for (size_t i = 0; i < from.size(); i++) {'
        " TORCH_CHECK(from[i].numel() == to[i].numel()); long n = to[i].numel();"
        f" {LAUNCH}(from[i].data_ptr<float>(), to[i].data_ptr<float>(), n); }} }}",
    )
    assert draft.missing == ()
    assert _shapes(draft) == {"x": ("n",), "y": ("n",)}


def test_elements_that_are_asked_for_by_numbers_differ(tmp_path: Path) -> None:
    draft = _draft(
        tmp_path,
        "void run(std::vector<at::Tensor> all) { long rows = all[0].size(0), cols = all[0].size(1);"
        " long n = all[1].numel(); TORCH_CHECK(all.size() == 3);"
        f" {LAUNCH}(all[2].data_ptr<float>(), all[1].data_ptr<float>(), all[0].numel()); }}",
    )
    assert _shapes(draft)["y"] == ("n",)
    assert draft.arguments[2].value == "rows * cols"


def test_lists_in_a_list(tmp_path: Path) -> None:
    draft = _draft(
        tmp_path,
        "void run(std::vector<std::vector<at::Tensor>> lists) { auto& from = lists[0]; auto& to = lists[1];"
        " for (size_t t = 0; t < to.size(); t++) { long n = to[t].numel(); TORCH_CHECK(n == from[t].numel());"
        f" {LAUNCH}(from[t].data_ptr<float>(), to[t].data_ptr<float>(), n); }} }}",
    )
    assert draft.missing == ()
    assert _shapes(draft) == {"x": ("n",), "y": ("n",)}


def test_tensors_that_a_loop_makes_for_those_of_a_list(tmp_path: Path) -> None:
    draft = _draft(
        tmp_path,
        "std::vector<at::Tensor> run(at::TensorList xs) { std::vector<at::Tensor> ys; ys.reserve(xs.size());"
        " for (const auto& x : xs) ys.emplace_back(at::empty({x.size(0), x.size(1)}, x.options()));"
        " for (size_t i = 0; i < xs.size(); i++) { long n = xs[i].size(0) * xs[i].size(1);"
        f" {LAUNCH}(xs[i].data_ptr<float>(), ys[i].data_ptr<float>(), n); }} return ys; }}",
    )
    assert draft.missing == ()
    assert _shapes(draft) == {"x": ("xs_size_0", "xs_size_1"), "y": ("xs_size_0", "xs_size_1")}


def test_a_list_that_was_counted_gets_no_further_tensor(tmp_path: Path) -> None:
    draft = _draft(
        tmp_path,
        "at::Tensor last(const std::vector<at::Tensor>& all) { return all[2]; }"
        "void run(std::vector<at::Tensor> all) { long n = all.size(); auto x = last(all);"
        f" {LAUNCH}(x.data_ptr<float>(), all[0].data_ptr<float>(), n); }}",
    )
    assert "the shape of x: nothing allocates `x.data_ptr<float>()`" in draft.missing


def test_an_element_by_a_number_that_sizes_tell_is_unknown(tmp_path: Path) -> None:
    draft = _draft(
        tmp_path,
        "void run(std::vector<at::Tensor> all, int which) { auto x = all[which]; long n = all[0].numel();"
        f" {LAUNCH}(x.data_ptr<float>(), all[0].data_ptr<float>(), n); }}",
    )
    assert "the shape of x: nothing allocates `x.data_ptr<float>()`" in draft.missing
