"""A small workspace of our own."""

from __future__ import annotations

from pathlib import Path

import pytest

SCALE = """\
// Multiplies – row by row – by α.
__global__ void scale(float* out, const float* x, float alpha, int C) {
    const float* row = x + blockIdx.x * C;
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        /* α·x 😀 */ out[blockIdx.x * C + i] = alpha * row[i];
    }
}

void launch_scale(float* out, const float* x, float alpha, int N, int C) {
    scale<<<N, 128>>>(out, x, alpha, C);
}
"""


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    """A file with one kernel that skills apply to, in a folder that is no repository."""
    path = tmp_path / "scale.cu"
    path.write_text(SCALE, "utf-8")
    return path
