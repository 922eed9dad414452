"""Sizes of which one goes into the other, which only the callers' numbers say: heads by groups."""

from __future__ import annotations

from pathlib import Path

import pytest

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
