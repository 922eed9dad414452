"""Sizes that are timed where nothing tells any."""

from __future__ import annotations

import math

import pytest

from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.model import Draft, DraftArgument
from kernel_lineage.workloads.timed_sizes import with_timed_sizes

PRODUCT = "sum += a[m * K + k] * b[k * N + n];"
BODIES = {
    "walks": f"float sum = 0; for (int k = 0; k < K; ++k) {PRODUCT} c[m * N + n] = sum;",
    "has an array": f"float kept[64]; float sum = 0; for (int k = 0; k < K; ++k) {PRODUCT} c[m * N + n] = sum;",
    "has no loop": "c[m * N + n] = a[m * K] * b[n];",
}


def product(body: str, block: tuple[str, ...] = ("16", "16"), by_callers: str = "") -> Draft:
    text = f"""__global__ void product(const float* a, const float* b, float* c, int M, int N, int K) {{
        int n = blockIdx.x * 16 + threadIdx.x, m = blockIdx.y * 16 + threadIdx.y;
        if (m < M && n < N) {{ {body} }}
    }}"""
    kernel = read(text.encode(), Language.CUDA).kernels[0]
    shapes = {"a": ("M", "K"), "b": ("K", "N"), "c": ("M", "N")}
    draft = Draft(
        "product", Language.CUDA, "product.cu", {"M": 16, "N": 512, "K": 96}, {"M": 2, "N": 64, "K": 12},
        (
            *(DraftArgument(n, "output" if n == "c" else "input", "float32", s) for n, s in shapes.items()),
            *(DraftArgument(n, "scalar", "int32", value=n) for n in "MNK"),
        ),
        grid=("ceil_div(N, 16)", "ceil_div(M, 16)"), block=block, chosen=("M", "N", "K"),
        assumed=tuple(f"{n} is chosen: nothing tells it" for n in "MNK" if n not in by_callers),
    )  # fmt: skip
    return with_timed_sizes(draft, kernel)


@pytest.mark.parametrize(
    ("body", "grows"), [("walks", True), ("has an array", False), ("has no loop", False)]
)
def test_the_grid_grows_and_what_is_walked_along_where_no_array_bounds_it(body: str, grows: bool) -> None:
    draft = product(BODIES[body])

    assert draft.checked == {"M": 2, "N": 64, "K": 12}
    assert draft.dims["M"] * draft.dims["N"] >= 1 << 20
    assert (draft.dims["K"] > 96) == grows


def test_the_work_stays_what_a_simple_kernel_does_in_milliseconds() -> None:
    dims = product(BODIES["walks"]).dims

    assert 1 << 30 <= math.prod(dims.values()) <= 1 << 34


def test_what_a_block_is_made_of_stays() -> None:
    dims = product(BODIES["walks"], block=("16", "M")).dims

    assert dims["M"] == 16
    assert dims["N"] > 512


def test_sizes_that_callers_tell_stay() -> None:
    assert product(BODIES["walks"], by_callers="MNK").dims == {"M": 16, "N": 512, "K": 96}


@pytest.mark.parametrize(
    ("constexpr", "cols"),
    [
        ({"BLOCK": "next_power_of_2(C)"}, 4096),
        ({"BLOCK": "next_power_of_2(C)", "SCALED": "True"}, 4096),
        ({"BLOCK": "next_power_of_2(C)", "ROWS": "32"}, 128),
        ({"BLOCK": "C"}, 64),
    ],
)
def test_a_row_grows_with_the_block_that_is_rounded_up_from_it(constexpr: dict[str, str], cols: int) -> None:
    text = """@triton.jit
def double(x, y, C, BLOCK: tl.constexpr):
    at = tl.program_id(0) * C + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < C
    tl.store(y + at, 2 * tl.load(x + at, mask=mask), mask=mask)
"""
    kernel = read(text.encode(), Language.TRITON).kernels[0]
    draft = Draft(
        "double", Language.TRITON, "double.py", {"N": 96, "C": 64}, {"N": 96, "C": 64},
        (
            *(DraftArgument(n, "output" if n == "y" else "input", "float32", ("N", "C")) for n in "xy"),
            DraftArgument("C", "scalar", "int32", value="C"),
        ),
        grid=("N",), constexpr=constexpr, chosen=("N", "C"),
        assumed=tuple(f"{n} is chosen: nothing tells it" for n in "NC"),
    )  # fmt: skip

    assert with_timed_sizes(draft, kernel).dims["C"] == cols
    assert with_timed_sizes(draft, kernel).dims["N"] >= 3072
