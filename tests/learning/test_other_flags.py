"""A change behind another value of a flag than a draft gives: asked with that value, too."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.learning.changed_file import verdicts_on

from kernel_gate.standing import Standing

ROWS = """
import torch
import triton
import triton.language as tl


@triton.jit
def reduced(x, y, n, BLOCK: tl.constexpr, KIND: tl.constexpr):
    row = tl.program_id(0)
    own = 0.0
    for first in range(0, n, BLOCK):
        at = first + tl.arange(0, BLOCK)
        own += tl.sum(tl.load(x + row * n + at, mask=at < n, other=0.0))
    if KIND == 1:
        own = own / n
    tl.store(y + row, own)


def reduce_rows(x, kind: str = "sum", wide=False):
    rows, n = x.shape
    BLOCK = 32
    if wide:
        BLOCK = 64
    y = torch.empty(rows, device=x.device)
    reduced[(rows,)](x, y, n, BLOCK=BLOCK, KIND=1 if kind == "mean" else 0)
    return y
"""
SUM = "own += tl.sum(tl.load(x + row * n + at, mask=at < n, other=0.0))"


@pytest.mark.parametrize(
    ("old", "new", "standing", "why"),
    [
        (SUM, SUM.replace("own += ", "own = own + "), Standing.RIGHT, "right where wide == True, too"),
        ("range(0, n, BLOCK)", "range(0, n, 32)", Standing.REJECTED, "where wide == True: "),
        ("BLOCK = 64", "BLOCK = 63 + 1", Standing.RIGHT, "right where kind == 'mean', too"),
        ("own = own / n", "own = own * (1.0 / n)", Standing.RIGHT, "where kind == 'mean': not profiled"),
        ("own = own / n", "own = own / (n + 1)", Standing.REJECTED, "where kind == 'mean': "),
    ],
    ids=["kept", "of a block", "of host code", "compiled with it alone", "wrong with it alone"],
)
def test_flags_of_python_host_code_are_asked(
    tmp_path: Path, old: str, new: str, standing: Standing, why: str
) -> None:
    assert old in ROWS
    (verdict,) = verdicts_on(tmp_path / "rows.py", ROWS, ROWS.replace(old, new))
    assert (verdict.standing, why in verdict.reason) == (standing, True), verdict.reason


BLUR = """
#include <torch/extension.h>
__global__ void blur(const float* x, float* y, int n, int r, int mode) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float own = 0.f;
    for (int d = -r; d <= r; ++d) own += x[min(max(i + d, 0), n - 1)];
    y[i] = mode == 3 ? own : own / (2 * r + 1);
}
at::Tensor smooth(const at::Tensor& x, int wide, int64_t mode) {
    TORCH_CHECK(x.is_contiguous() && (wide == 0 || wide == 1));
    int n = x.numel(), r = wide ? 4 : 2;
    at::Tensor y = at::empty_like(x);
    blur<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, r, (int)mode);
    return y;
}
"""


@pytest.mark.parametrize(
    ("old", "new", "standing", "why"),
    [
        ("own : own / (", "own : own * 1.f / (", Standing.RIGHT, "right where wide == 0, too; right where mode == 0"),
        ("own : own / (", "own : own / (1 + ", Standing.REJECTED, "where mode == 0: "),
        ("d <= r", "d <= 4", Standing.REJECTED, "where wide == 0: "),
        ("wide ? 4 : 2", "wide ? 4 : 3", Standing.REJECTED, "where wide == 0: "),
    ],
)  # fmt: skip
def test_numbers_by_which_a_function_of_cpp_chooses_are_asked(
    tmp_path: Path, old: str, new: str, standing: Standing, why: str
) -> None:
    assert old in BLUR
    (verdict,) = verdicts_on(tmp_path / "blur.cu", BLUR, BLUR.replace(old, new))
    assert (verdict.standing, why in verdict.reason) == (standing, True), verdict.reason
