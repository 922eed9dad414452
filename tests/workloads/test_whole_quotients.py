"""Sizes of which one goes into the other, which only the callers' numbers say: heads by groups."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.shapes import hidden_shapes
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import target_of
from kernel_lineage.workloads.model import Draft

CODE = """
__global__ void spread(const float* of_group, float* y, int heads, int groups, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, head = blockIdx.y;
    int group = head / (heads / groups);
    if (i < n) y[head * n + i] = of_group[group * n + i];
}
int main() {
    const int heads = 32, groups = 8, n = 5000;
    float *y, *of_group;
    cudaMalloc(&y, heads * n * sizeof(float));
    cudaMalloc(&of_group, groups * n * sizeof(float));
    spread<<<dim3((n + 127) / 128, heads), 128>>>(of_group, y, heads, groups, n);
}
"""


def drafted(folder: Path, code: str) -> Draft:
    path = folder / "spread.cu"
    path.write_text(code)
    return draft_of(target_of(path, "spread"), path)


def test_what_is_divided_is_promised_to_be_a_multiple(tmp_path: Path) -> None:
    draft = drafted(tmp_path, CODE)
    assert draft.missing == ()
    assert draft.promises == ("heads % groups == 0",)
    assert (
        "heads % groups == 0: else the kernel leaves its buffers, and every caller keeps it" in draft.assumed
    )
    assert all(sizes["heads"] % sizes["groups"] == 0 for sizes in (draft.dims, draft.checked, *draft.timed))


@pytest.mark.parametrize(
    "change",
    [
        ("heads = 32", "heads = 30"),  # no caller keeps it
        (
            "head / (heads / groups)",
            "min(head / (heads / groups), groups - 1)",
        ),  # the kernel sees to it itself
        ("head / (heads / groups)", "head * groups / heads"),  # right at all sizes
    ],
)
def test_a_kernel_that_stays_in_its_buffers_needs_no_promise(tmp_path: Path, change: tuple[str, str]) -> None:
    assert change[0] in CODE
    assert "heads % groups == 0" not in drafted(tmp_path, CODE.replace(*change)).promises


BLOCKS = """
__global__ void smooth(const float* x, float* y, int width, int height) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= width || j >= height) return;
    int left = i / 6 * 6, top = j / 6 * 6;
    float sum = 0.0f;
    for (int k = 0; k < 6; ++k) sum += x[(top + k) * width + left + k];
    y[j * width + i] = sum;
}
int main() {
    const int width = 1920, height = 1080;
    float *x, *y;
    cudaMalloc(&x, width * height * sizeof(float));
    cudaMalloc(&y, width * height * sizeof(float));
    dim3 block(16, 16), grid((width + 15) / 16, (height + 15) / 16);
    smooth<<<grid, block>>>(x, y, width, height);
}
"""


def smoothed(folder: Path, code: str) -> Draft:
    path = folder / "smooth.cu"
    path.write_text(code)
    return draft_of(target_of(path, "smooth"), path)


def test_what_lies_in_blocks_of_a_number_is_promised_to_be_whole_blocks(tmp_path: Path) -> None:
    draft = smoothed(tmp_path, BLOCKS)
    assert draft.missing == ()
    assert draft.promises == ("width % 6 == 0", "height % 6 == 0")
    shapes = hidden_shapes(draft.workload(), 7)
    assert len({s["width"] for s in shapes}) > 2 and all(
        s["width"] % 6 == s["height"] % 6 == 0 for s in shapes
    )


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (("width = 1920", "width = 1921"), ()),  # no caller keeps it: the kernel is wrong
        (("(top + k) * width", "min(top + k, height - 1) * width"), ("width % 6 == 0",)),
        (("x[(top + k) * width + left + k]", "x[top * width + left]"), ()),
    ],
)
def test_blocks_that_the_kernel_or_a_caller_cuts_off_need_no_promise(
    tmp_path: Path, change: tuple[str, str], left: tuple[str, ...]
) -> None:
    assert change[0] in BLOCKS
    assert smoothed(tmp_path, BLOCKS.replace(*change)).promises == left
