"""Tags by which host code chooses a template's argument, and the lambdas that are given them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.model import Draft
from workloads.following.first_drafts import first_draft

SCALE = """
template <typename T, int V>
__global__ void scale(const T* x, T* y, float a, int n) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * V;
  for (int k = 0; k < V; ++k) if (i + k < n) y[i + k] = T(float(x[i + k]) * a);
}
template <int N> struct Width { static constexpr int value = N; };
template <typename E> struct Of { using type = E; };
"""


def _draft(folder: Path, lines: str) -> Draft:
    head = "at::Tensor run(at::Tensor x, double a) { int n = x.numel(); auto y = at::empty_like(x);"
    return first_draft(folder, f"{SCALE}{head}{lines} return y; }}")


def _launch(element: str, count: str) -> str:
    pointers = f"(const {element}*)x.data_ptr(), ({element}*)y.data_ptr()"
    return f"scale<{element}, {count}><<<(n + 256 * {count} - 1) / (256 * {count}), 256>>>({pointers}, a, n);"


@pytest.mark.parametrize(
    ("read", "tag"),
    [
        ("constexpr int V = decltype(tag)::value;", "std::integral_constant<int, 4>{}"),
        ("constexpr int V = tag;", "std::integral_constant<int, 4>()"),
        ("constexpr int V = tag.value;", "std::integral_constant<int, 4>{}"),
        ("constexpr int V = tag();", "std::integral_constant<int, 4>{}"),
        ("constexpr int V = decltype(tag)::value;", "Width<4>{}"),
        ("constexpr int V = tag.value;", "Width<4>{}"),
        ("constexpr int V = decltype(tag)::value ? 4 : 1;", "std::true_type{}"),
        ("constexpr int V = tag ? 4 : 1;", "std::bool_constant<true>{}"),
    ],
)
def test_a_tag_is_the_number_that_it_stands_for(tmp_path: Path, read: str, tag: str) -> None:
    draft = _draft(
        tmp_path, f"auto launch = [&](auto tag) {{ {read} {_launch('float', 'V')} }}; launch({tag});"
    )
    assert (draft.missing, draft.template_arguments) == ((), ("float", "4"))
    assert draft.grid == ("ceil_div(n, 1024)",)


@pytest.mark.parametrize(
    ("read", "tag"),
    [
        ("using T = decltype(zero);", "double{}"),
        ("using T = typename decltype(zero)::type;", "Of<double>{}"),
    ],
)
def test_a_tag_is_the_type_that_it_stands_for(tmp_path: Path, read: str, tag: str) -> None:
    draft = _draft(tmp_path, f"auto launch = [&](auto zero) {{ {read} {_launch('T', '2')} }}; launch({tag});")
    assert (draft.missing, draft.template_arguments) == ((), ("double", "2"))


@pytest.mark.parametrize(
    "tail", ["[&](auto tag) { constexpr int V = tag;", "[&]<int V>() {"], ids=["tag", "template"]
)
def test_the_side_on_which_a_leading_lambda_is_called_asks_for_its_condition(
    tmp_path: Path, tail: str
) -> None:
    calls = (
        ("launch(std::integral_constant<int, 4>{})", "launch(std::integral_constant<int, 1>{})")
        if "tag" in tail
        else ("launch.template operator()<4>()", "launch.template operator()<1>()")
    )
    lines = f"auto launch = {tail} {_launch('float', 'V')} }}; if (n % 4 == 0) {calls[0]}; else {calls[1]};"
    draft = _draft(tmp_path, lines)
    assert (draft.template_arguments, draft.promises) == (("float", "4"), ("n % 4 == 0",))


def test_a_tag_that_nothing_tells_is_not_taken_for_a_number(tmp_path: Path) -> None:
    lines = (
        f"auto launch = [&](auto tag) {{ constexpr int V = decltype(tag)::value; {_launch('float', 'V')} }};"
    )
    draft = _draft(tmp_path, f"{lines} launch(chosen_elsewhere(n));")
    assert any(why.startswith("the template argument V") for why in draft.missing)


@pytest.mark.parametrize(
    ("written", "grid"),
    [
        ("std::clamp<int64_t>(n / 8, 1, 4096)", "max(min(n // 8, 4096), 1)"),
        ("std::min({n / 8, 4096, 65535})", "min(n // 8, 4096, 65535)"),
        ("std::max(1, std::min({n / 8, 4096}))", "max(1, min(n // 8, 4096))"),
    ],
)
def test_bounds_of_a_grid_are_expressions(tmp_path: Path, written: str, grid: str) -> None:
    blocks = f"scale<float, 1><<<{written}, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), a, n);"
    assert _draft(tmp_path, blocks).grid == (grid,)
