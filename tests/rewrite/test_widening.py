"""An operation that does not fit 32 bits, in 64."""

from __future__ import annotations

import pytest

from kernel_lineage.kernels.edits import edited
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.widening import NotWidenableError, widened

CUDA = """\
__device__ int at(int row, int C) {{ return row * C; }}
__global__ void k(float* out, int n, int C) {{
    {before}
    {line}
    out[i] = 0; // é
}}
"""
TRITON = """\
import triton
import triton.language as tl


@triton.jit
def k(out, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)  # é
    {line}
    tl.store(at, 0.0)
"""


def line_of(template, language, line, operation, before="", number=4):
    text = template.format(line=line, before=before)
    kernel = read(text.encode(), language).kernels[0]
    return edited(text.encode(), widened(kernel, number, operation)).decode().splitlines()


@pytest.mark.parametrize(
    ("line", "operation", "after"),
    [
        (
            "int i = blockIdx.x * blockDim.x + threadIdx.x;",
            "blockIdx.x * blockDim.x",
            "long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;",
        ),
        (
            "const unsigned int i = n + blockIdx.x * C;",
            "blockIdx.x * C",
            "const long long i = n + (long long)blockIdx.x * C;",
        ),
        ("auto i = 4 * n;", "4 * n", "auto i = 4 * (long long)n;"),
        ("size_t i = n / 2 * C;", "n / 2 * C", "size_t i = (long long)(n / 2) * C;"),
        ("int i = (n + 1) * C;", "(n + 1) * C", "long long i = (long long)(n + 1) * C;"),
        ("int i = n, j = n * C;", "n * C", "long long i = n, j = (long long)n * C;"),
        ("int i = at((long long)n, C);", "i = at((long long)n, C)", "long long i = at((long long)n, C);"),
    ],
)
def test_an_operand_is_cast_and_what_keeps_the_result_is_wider(line, operation, after):
    assert line_of(CUDA, Language.CUDA, line, operation)[3].strip() == after


def test_what_is_added_to_a_variable_widens_the_variable():
    lines = line_of(CUDA, Language.CUDA, "i += n;", "i += n", before="int i = 0;")
    assert [text.strip() for text in lines[2:4]] == ["long long i = 0;", "i += n;"]


@pytest.mark.parametrize(
    ("line", "operation", "number"),
    [
        ("int i = at(blockIdx.x, C);", "row * C", 1),
        ("n += C; int i = n;", "n += C", 4),
        ("int *p, i = n * C;", "i = n * C", 4),
    ],
    ids=["another function's", "a parameter", "a pointer beside it"],
)
def test_what_is_not_the_kernels_own_to_widen_is_refused(line, operation, number):
    with pytest.raises(NotWidenableError):
        line_of(CUDA, Language.CUDA, line, operation, number=number)


@pytest.mark.parametrize(
    ("line", "operation", "after"),
    [
        ("at = out + row * stride", "row * stride", "at = out + row.to(tl.int64) * stride"),
        (
            "at = out + stride * tl.program_id(0)",
            "stride * tl.program_id(0)",
            "at = out + stride * tl.program_id(0).to(tl.int64)",
        ),
    ],
)
def test_a_triton_index_is_cast_as_it_is_written_by_hand(line, operation, after):
    assert line_of(TRITON, Language.TRITON, line, operation, number=8)[7].strip() == after


def test_a_size_that_the_compiler_may_know_has_no_type_to_change():
    with pytest.raises(NotWidenableError, match="no operand"):
        line_of(TRITON, Language.TRITON, "at = out + n * stride", "n * stride", number=8)
