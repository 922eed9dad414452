"""Rows that are further apart than they are long, which only the callers' numbers say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import target_of
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.sizes_that_run import with_pitches

CODE = """
__global__ void shift(float* a, const float* bias, int M, int N, int ld) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
    if (i < M && j < N) a[(size_t)i * ld + j] += bias[j];
}
int main() {
    const int M = 48, N = 200, ld = 256;
    float *a, *bias;
    cudaMalloc(&a, (size_t)M * ld * sizeof(float));
    cudaMalloc(&bias, N * sizeof(float));
    shift<<<dim3((N + 127) / 128, M), 128>>>(a, bias, M, N, ld);
}
"""


def with_pitches_of(folder: Path, code: str, **checked: int) -> Draft | None:
    path = folder / "shift.cu"
    path.write_text(code)
    kernel = target_of(path, "shift")
    draft = draft_of(kernel, path)
    return with_pitches(replace(draft, checked={**draft.checked, **checked}), kernel, path, folder)


def test_a_pitch_is_promised_to_be_no_less_than_a_row(tmp_path: Path) -> None:
    draft = with_pitches_of(tmp_path, CODE, N=100, ld=64)
    assert draft is not None
    assert draft.promises == ("ld >= N",)
    assert draft.checked["N"] <= draft.checked["ld"]
    assert "ld >= N: else the kernel leaves its buffers, and every caller keeps it" in draft.assumed


@pytest.mark.parametrize(
    "change",
    [
        ("ld = 256", "ld = 100"),  # no caller keeps it
        ("j < N)", "j < N + 0 * (ld > 8))"),  # it is compared: the kernel sees to it itself
        ("&& j < N)", ")"),  # nothing ends the rows
    ],
)
def test_a_kernel_is_not_excused_by_what_its_callers_do_not_keep(
    tmp_path: Path, change: tuple[str, str]
) -> None:
    assert change[0] in CODE
    assert with_pitches_of(tmp_path, CODE.replace(*change), N=100, ld=64) is None


def test_a_kernel_that_stays_in_its_buffers_gets_no_promise(tmp_path: Path) -> None:
    assert with_pitches_of(tmp_path, CODE.replace("* ld + j]", "* N % ld + j % ld]")) is None


def test_a_pitch_that_the_checked_sizes_happen_to_keep_is_promised_too(tmp_path: Path) -> None:
    draft = with_pitches_of(tmp_path, CODE, N=100, ld=128)
    assert draft is not None
    assert draft.promises == ("ld >= N",)
