"""Kernels that change together may hand each other something else by memory that their host function alone has."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.learning.changed_file import verdicts_on

from kernel_gate.standing import Standing

KERNELS = """
__global__ void squares(const float* x, float* t, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) t[i] = x[i] * x[i];
}
__global__ void lifted(const float* t, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = t[i] + 1.f;
}
"""
FUNCTION = """
torch::Tensor squared(torch::Tensor x) {
    const int n = x.numel();
    auto t = torch::empty_like(x), y = torch::empty_like(x);
    squares<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), t.data_ptr<float>(), n);
    lifted<<<(n + 127) / 128, 128>>>(t.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
SCRATCH = "#include <torch/extension.h>" + KERNELS + FUNCTION
KEPT = SCRATCH.replace("torch::Tensor squared", "torch::Tensor kept;\ntorch::Tensor squared").replace(
    "    return y", "    kept = t;\n    return y"
)
PROGRAM = (
    KERNELS
    + """
int main() {
    const int n = 1000;
    float *x, *t, *y;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&t, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    squares<<<(n + 127) / 128, 128>>>(x, t, n);
    lifted<<<(n + 127) / 128, 128>>>(t, y, n);
}
"""
)


@pytest.mark.parametrize(
    ("before", "square", "lift", "standings"),
    [
        (SCRATCH, "2.f * x[i] * x[i]", "0.5f * t[i] + 1.f", [Standing.RIGHT] * 2),
        (SCRATCH, "2.f * x[i] * x[i]", "0.6f * t[i] + 1.f", [Standing.REJECTED] * 2),
        (SCRATCH, "2.f * x[i] * x[i]", "t[i] + 1.f", [Standing.REJECTED]),
        (KEPT, "2.f * x[i] * x[i]", "0.5f * t[i] + 1.f", [Standing.REJECTED] * 2),
        (PROGRAM, "2.f * x[i] * x[i]", "0.5f * t[i] + 1.f", [Standing.REJECTED] * 2),
    ],
    ids=["right together", "wrong together", "one alone", "kept", "of a program"],
)
def test_scratch_is_no_result(
    tmp_path: Path, before: str, square: str, lift: str, standings: list[Standing]
) -> None:
    after = before.replace("x[i] * x[i]", square).replace("t[i] + 1.f", lift)
    verdicts = verdicts_on(tmp_path / "squares.cu", before, after)
    assert [verdict.standing for verdict in verdicts] == standings, [verdict.reason for verdict in verdicts]
