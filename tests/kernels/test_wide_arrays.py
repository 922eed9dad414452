"""Which arrays are addressed by offsets in 64 bits."""

import pytest

from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.kernels.wide_arrays import WideArray, wide_arrays

CUDA = """__global__ void k(float* out, const float* x, const int* at, int n, int C) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    BODY
}
"""
TRITON = """import triton
import triton.language as tl

@triton.jit
def k(x_ptr, y_ptr, at_ptr, stride, wide: tl.int64, n, B: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, B)
    BODY
"""


@pytest.mark.parametrize(
    ("body", "arrays"),
    [
        ("if (i < n) out[(size_t)i * C] = x[i * C];", {"out"}),
        ("const float* p = x + static_cast<int64_t>(i) * C; out[i] = p[at[i]];", {"x"}),
        ("size_t row = (size_t)blockIdx.x * C; x += row; out[i] = x[threadIdx.x];", {"x"}),
        ("long long first = blockIdx.x * C; out[i] = *(x + first);", {"x"}),
        ("out[i] = x[at[(size_t)i * C]];", {"at"}),
        ("long int at = blockIdx.x * C; x += at; __pipeline_memcpy_async(out, x, 16);", {"x"}),
        ("copy(out + (uint64_t)i * C, x + i * C);", {"out"}),
        ("copy(out + i, x[(uint64_t)i * C]);", {"x"}),
        ("out[i] = x[(size_t)i];", set()),  # not multiplied: 32 bits held it before
        ("out[(size_t)(i * C)] = x[i];", set()),  # the product is worked out in 32 bits
        ("out[i] = x[i * C];", set()),
    ],
)
def test_in_cuda(body, arrays):
    (kernel,) = read(CUDA.replace("BODY", body).encode(), Language.CUDA).kernels
    assert set(wide_arrays(kernel)) == arrays


@pytest.mark.parametrize(
    ("body", "arrays"),
    [
        (
            "tl.store(y_ptr + row.to(tl.int64) * stride + cols, tl.load(x_ptr + row * stride + cols))",
            {"y_ptr"},
        ),
        ("x_ptr += row.to(tl.int64) * stride\n    tl.store(y_ptr + cols, tl.load(x_ptr + cols))", {"x_ptr"}),
        ("m = tl.load(at_ptr + row).to(tl.int64)\n    tl.store(y_ptr + m * n + cols, 0)", {"y_ptr"}),
        ("m = tl.load(at_ptr + row.to(tl.int64) * n)\n    tl.store(y_ptr + m * n + cols, 0)", {"at_ptr"}),
        ("tl.store(y_ptr + row * wide + cols, tl.load(x_ptr + row * stride + cols))", {"y_ptr"}),
        ("tl.store(y_ptr + row.to(tl.int64), 0)", set()),
        ("tl.store(y_ptr + (row * n).to(tl.int64) + cols, 0)", set()),
        ("tl.store(y_ptr + row * n + cols, 0)", set()),
    ],
)
def test_in_triton(body, arrays):
    (kernel,) = read(TRITON.replace("BODY", body).encode(), Language.TRITON).kernels
    assert set(wide_arrays(kernel)) == arrays


def test_each_factor_that_is_widened_counts_once():
    body = "first = row.to(tl.int64)\n    tl.store(y_ptr + first * n + tl.load(at_ptr).to(tl.int64) * n, 0)"
    body += "\n    tl.store(y_ptr + first * stride, 0)"
    (kernel,) = read(TRITON.replace("BODY", body).encode(), Language.TRITON).kernels
    assert wide_arrays(kernel) == {"y_ptr": WideArray(factors=2, addresses=2)}
