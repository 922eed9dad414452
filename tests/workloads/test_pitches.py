"""Rows that are further apart than they are long, which only the callers' numbers say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.completing import tried_draft
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import target_of
from kernel_lineage.workloads.model import CHOSEN, Draft, DraftArgument
from kernel_lineage.workloads.row_pitches import with_separate_rows
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


ROWS = """
struct Shape { int w, h; size_t pitch; };
__global__ void shift(unsigned char* out, const float* x, Shape s) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < s.h && j < s.w) reinterpret_cast<float*>(out + i * s.pitch)[j] = x[i * s.w + j] + 1.0f;
}
void launch(unsigned char* out, const float* x, size_t pitch, int w, int h) {
    Shape s{w, h, pitch};
    shift<<<dim3((w + 31) / 32, (h + 7) / 8), dim3(32, 8)>>>(out, x, s);
}
"""


def test_rows_of_an_output_do_not_overlap_where_the_draft_chose_how_far_apart_they_are(
    tmp_path: Path,
) -> None:
    path = tmp_path / "shift.cu"
    path.write_text(ROWS)
    draft, proof = tried_draft(target_of(path, "shift"), path, root=tmp_path)
    assert proof is not None
    assert not proof.blind
    assert "pitch >= 4 * w" in draft.promises
    assert all(s["pitch"] >= 4 * s["w"] for s in (draft.dims, draft.checked))
    assert "pitch >= 4 * w: else rows overlap, and threads race" in draft.assumed


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ("h * pitch + w * 4 + pitch * -1", "race on x[64]"),  # it does not name the output
        ("h * pitch", "race on out[64]"),
        ("h * pitch + w", "race on out[64]"),  # as many rows as there are, and more
        ("h * w + pitch + w * -1", "race on out[64]"),  # another dim is the pitch, which a caller gives
    ],
)
def test_no_distance_of_rows_is_promised_that_the_extent_of_an_output_does_not_show(
    shape: str, reason: str
) -> None:
    dims = {"h": 8, "w": 32, "pitch": 64}
    out = DraftArgument("out", "output", "uint8", (shape,))
    draft = Draft("shift", Language.CUDA, "shift.cu", dims, dims, (out,), assumed=(f"pitch{CHOSEN}",))
    assert with_separate_rows(draft, reason) is None
