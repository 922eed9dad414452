"""Kernels and functions that host code chooses into a variable before it calls them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.model import Draft
from workloads.following.first_drafts import first_draft

SCALE = """
template <typename T, int V>
__global__ void scale(const T* x, T* y, float a, int n) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * V;
  for (int k = 0; k < V; ++k) if (i + k < n) y[i + k] = x[i + k] * a;
}
template <typename T>
__global__ void other(const T* x, T* y, float a, int n) { if (threadIdx.x == 0) y[0] = x[0] * a + n; }
template <typename T, int V>
void launch(const T* x, T* y, float a, int n) {
  scale<T, V><<<(n + 256 * V - 1) / (256 * V), 256>>>(x, y, a, n);
}
template <typename T>
void launch_other(const T* x, T* y, float a, int n) { other<T><<<1, 32>>>(x, y, a, n); }
"""
HOST = """
at::Tensor run(at::Tensor x, double a, int64_t r) {
  int n = x.numel();
  auto y = at::empty_like(x);
  BODY
  return y;
}
"""
CALL = "(x.data_ptr<float>(), y.data_ptr<float>(), a, n);"
POINTER = "void (*go)(const float*, float*, float, int)"
SWITCH = f"""{POINTER} = nullptr;
switch (r) {{ case 2: go = launch<float, 2>; break; default: TORCH_CHECK(false); }} go{CALL}"""


def _draft(folder: Path, body: str, before: str = "", kernel: str = "scale") -> Draft:
    return first_draft(folder, SCALE + before + HOST.replace("BODY", body), kernel)


@pytest.mark.parametrize(
    ("body", "elements", "promises"),
    [
        (f"{POINTER} = n % 4 == 0 ? launch<float, 4> : launch<float, 1>; go{CALL}", 4, ("n % 4 == 0",)),
        (f"auto go = launch<float, 1>; if (n % 2 == 0) go = launch<float, 2>; go{CALL}", 2, ("n % 2 == 0",)),
        (f"auto go = &launch<float, 8>; (*go){CALL}", 8, ()),
        (f"(n % 2 == 0 ? launch<float, 2> : launch<float, 1>){CALL}", 2, ("n % 2 == 0",)),
        (f"std::function<void(const float*, float*, float, int)> go = launch<float, 4>; go{CALL}", 4, ()),
        (SWITCH, 2, ()),
    ],
    ids=["ternary", "set-later", "address", "in-place", "std-function", "switch"],
)
def test_a_launching_function_is_called_by_a_variable(
    tmp_path: Path, body: str, elements: int, promises: tuple[str, ...]
) -> None:
    draft = _draft(tmp_path, body)
    assert (draft.missing, draft.template_arguments) == ((), ("float", str(elements)))
    assert draft.grid == (f"ceil_div(n, {256 * elements})",)
    assert draft.promises == promises


def test_a_launching_function_is_an_element_of_a_table(tmp_path: Path) -> None:
    table = f"static {POINTER.replace('go', 'table[]')} = {{launch<float, 1>, launch<float, 2>}};"
    draft = _draft(tmp_path, f"const int wide = 1; {table} table[wide]{CALL}")
    assert (draft.missing, draft.template_arguments) == ((), ("float", "2"))


def test_a_launching_function_is_a_field(tmp_path: Path) -> None:
    before = f"struct Choice {{ int wide; {POINTER}; }};"
    draft = _draft(tmp_path, f"Choice choice; choice.go = launch<float, 4>; choice.go{CALL}", before)
    assert (draft.missing, draft.template_arguments) == ((), ("float", "4"))


def test_a_function_gives_the_launching_function(tmp_path: Path) -> None:
    before = (
        "using Go = void (*)(const float*, float*, float, int);"
        "Go chosen(int n) { if (n % 4 == 0) return launch<float, 4>; return &launch<float, 1>; }"
    )
    draft = _draft(tmp_path, f"Go go = chosen(n); go{CALL}", before)
    assert (draft.missing, draft.template_arguments) == ((), ("float", "4"))
    assert draft.promises == ("n % 4 == 0",)


def test_what_a_choice_of_kernels_asks_for_is_kept_by_the_sizes(tmp_path: Path) -> None:
    body = f"auto kernel = n % 4 == 0 ? &scale<float, 4> : &scale<float, 1>; kernel<<<(n + 255) / 256, 256>>>{CALL}"
    draft = _draft(tmp_path, body)
    assert (draft.template_arguments, draft.promises) == (("float", "4"), ("n % 4 == 0",))


@pytest.mark.parametrize("kernel", ["scale", "other"])
def test_the_side_that_leads_to_the_kernel_is_taken(tmp_path: Path, kernel: str) -> None:
    draft = _draft(
        tmp_path, f"auto go = n % 4 == 0 ? launch<float, 4> : launch_other<float>; go{CALL}", kernel=kernel
    )
    assert draft.missing == ()
    assert draft.promises == (("n % 4 == 0",) if kernel == "scale" else ("not n % 4 == 0",))


def test_a_function_that_nothing_tells_is_not_followed(tmp_path: Path) -> None:
    draft = _draft(tmp_path, f"auto go = chosen_elsewhere(r, launch<float, 4>); go{CALL}")
    assert "the template argument V: nothing tells `V`" in draft.missing
