"""Small kernels that the examples of several mutations are made of."""

from __future__ import annotations

from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.mutants.model import MutationExample, UntouchedExample

SCALE = """\
__global__ void scale(float* out, const float* x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = factor * x[i];
    }
}
"""

ROW_SUMS = """\
__global__ void row_sums(float* out, const float* x, int C) {
    __shared__ float partial[256];
    const float* row = x + blockIdx.x * C;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        sum += row[i];
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int width = 128; width > 0; width /= 2) {
        if (threadIdx.x < width) {
            partial[threadIdx.x] += partial[threadIdx.x + width];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        out[blockIdx.x] = partial[0];
    }
}
"""

WARP_SOFTMAX_SUM = """\
__device__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffff, value, offset);
    }
    return value;
}

__global__ void normalise(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    float biggest = -INFINITY;
    for (int i = threadIdx.x; i < C; i += 32) {
        biggest = fmaxf(biggest, row[i]);
    }
    float sum = 0.0f;
    for (int i = threadIdx.x; i < C; i += 32) {
        sum += expf(row[i] - biggest);
    }
    sum = warp_sum(sum);
    for (int i = threadIdx.x; i < C; i += 32) {
        out[blockIdx.x * C + i] = expf(row[i] - biggest) / (sum + 1e-6f);
    }
}
"""

TILED_MATMUL = """\
#define TILE 16

__global__ void matmul(float* c, const float* a, const float* b, int N, int K) {
    __shared__ float tile_a[TILE][TILE + 1];
    __shared__ float tile_b[TILE][TILE + 1];
    int x = threadIdx.x;
    int y = threadIdx.y;
    int row = blockIdx.y * TILE + y;
    int column = blockIdx.x * TILE + x;
    float sum = 0.0f;
    for (int t = 0; t < K / TILE; t++) {
        tile_a[y][x] = a[row * K + t * TILE + x];
        tile_b[y][x] = b[(t * TILE + y) * N + column];
        __syncthreads();
        for (int k = 0; k < TILE; k++) {
            sum += tile_a[y][k] * tile_b[k][x];
        }
        __syncthreads();
    }
    c[row * N + column] = sum;
}
"""

TRITON_ROWS = """\
import triton
import triton.language as tl


@triton.jit
def row_softmax(out_ptr, x_ptr, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < C
    x = tl.load(x_ptr + row * C + offsets, mask=mask, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * C + offsets, e / tl.sum(e, axis=0), mask=mask)
"""

TRITON_MATMUL = """\
import triton
import triton.language as tl


@triton.jit
def matmul(c_ptr, a_ptr, b_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + rows[:, None] * K + (k + depth)[None, :])
        b = tl.load(b_ptr + (k + depth)[:, None] * N + columns[None, :])
        total += tl.dot(a, b)
        tl.debug_barrier()
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total)
"""

_NAMES = {
    SCALE: "scale",
    ROW_SUMS: "row_sums",
    WARP_SOFTMAX_SUM: "normalise",
    TILED_MATMUL: "matmul",
    TRITON_ROWS: "row_softmax",
    TRITON_MATMUL: "matmul",
}


def _language(code: str) -> Language:
    return Language.TRITON if "@triton.jit" in code else Language.CUDA


def changed(code: str, before: str, after: str) -> MutationExample:
    """One of the kernels above, and the same with one piece of text, which it holds once, replaced."""
    if code.count(before) != 1:
        raise ValueError(f"{before!r} is {code.count(before)} times in the example")
    return MutationExample(_language(code), _NAMES[code], code, code.replace(before, after))


def untouched(code: str) -> UntouchedExample:
    """One of the kernels above, in which there is nothing to mutate."""
    return UntouchedExample(_language(code), _NAMES[code], code)
