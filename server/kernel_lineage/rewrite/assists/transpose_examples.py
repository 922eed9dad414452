"""Examples of `transpose_through_tile`: kernels before and after, and kernels that it must leave alone."""

from __future__ import annotations

from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.model import AssistExample, RefusalExample

_STORE = """\
__global__ void swap_axes(const float* in, float* out, int rows, int cols) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < cols && y < rows) {
        out[x * rows + y] = in[y * cols + x];
    }
}

void launch(const float* in, float* out, int rows, int cols) {
    swap_axes<<<dim3((cols + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(in, out, rows, cols);
}
"""

_STORE_AFTER = """\
__global__ void swap_axes(const float* in, float* out, int rows, int cols) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (blockDim.x == 16 && blockDim.y == 16) {
        // One more column, so that a column of the tile lies in different banks.
        __shared__ float tile[16][17];
        if (x < cols && y < rows) {
            tile[threadIdx.y][threadIdx.x] = in[y * cols + x];
        }
        __syncthreads();
        {
            int x = blockIdx.x * 16 + threadIdx.y;
            int y = blockIdx.y * 16 + threadIdx.x;
            if (x < cols && y < rows) {
                out[x * rows + y] = tile[threadIdx.x][threadIdx.y];
            }
        }
    } else {
        if (x < cols && y < rows) {
            out[x * rows + y] = in[y * cols + x];
        }
    }
}

void launch(const float* in, float* out, int rows, int cols) {
    swap_axes<<<dim3((cols + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(in, out, rows, cols);
}
"""

_LOAD = """\
#include <cuda_fp16.h>

__global__ void from_columns(half* dst, const half* src, const half* bias, float scale, int H, int W) {
  const int col = threadIdx.x + 32 * blockIdx.x;
  const int row = threadIdx.y + blockDim.y * blockIdx.y;
  if (row >= H || col >= W) return;
  float v = __half2float(src[col * H + row]) + __half2float(bias[row]);
  int to = row * W + col;
  dst[to] = __float2half(v * scale);
}

void launch(half* dst, const half* src, const half* bias, float scale, int H, int W) {
  dim3 threads(32, 8);
  from_columns<<<dim3((W + 31) / 32, (H + 7) / 8), threads>>>(dst, src, bias, scale, H, W);
}
"""

_LOAD_AFTER = """\
#include <cuda_fp16.h>

__global__ void from_columns(half* dst, const half* src, const half* bias, float scale, int H, int W) {
  const int col = threadIdx.x + 32 * blockIdx.x;
  const int row = threadIdx.y + blockDim.y * blockIdx.y;
  if (blockDim.x == 32 && blockDim.y == 8) {
    // One more column, so that a column of the tile lies in different banks.
    __shared__ half tile[8][34];
    {
      int col = blockIdx.x * 32 + (threadIdx.y * 32 + threadIdx.x) / 8;
      int row = blockIdx.y * 8 + (threadIdx.y * 32 + threadIdx.x) % 8;
      if (!(row >= H || col >= W)) {
        float v = __half2float(src[col * H + row]) + __half2float(bias[row]);
        int to = row * W + col;
        tile[(threadIdx.y * 32 + threadIdx.x) % 8][(threadIdx.y * 32 + threadIdx.x) / 8] = __float2half(v * scale);
      }
    }
    __syncthreads();
    if (!(row >= H || col >= W)) {
      int to = row * W + col;
      dst[to] = tile[threadIdx.y][threadIdx.x];
    }
  } else {
    if (row >= H || col >= W) return;
    float v = __half2float(src[col * H + row]) + __half2float(bias[row]);
    int to = row * W + col;
    dst[to] = __float2half(v * scale);
  }
}

void launch(half* dst, const half* src, const half* bias, float scale, int H, int W) {
  dim3 threads(32, 8);
  from_columns<<<dim3((W + 31) / 32, (H + 7) / 8), threads>>>(dst, src, bias, scale, H, W);
}
"""


def _refused(change: tuple[str, str], reason: str) -> RefusalExample:
    return RefusalExample(Language.CUDA, "swap_axes", _STORE.replace(*change), reason)


APPLIES = (
    AssistExample(Language.CUDA, "swap_axes", _STORE, _STORE_AFTER),
    AssistExample(Language.CUDA, "from_columns", _LOAD, _LOAD_AFTER),
)
REFUSES = (
    _refused(("dim3(16, 16)>>>", "block>>>"), "does not tell its block"),
    _refused(("dim3(16, 16)>>>", "dim3(64, 4)>>>"), "cannot exchange runs of elements"),
    _refused(("out[x * rows + y] = ", "out[x * rows + y] += "), "to declare values and to store one"),
    _refused(("= in[y * cols + x];", "= in[y * cols + x] + threadIdx.x;"), "which thread does it"),
    _refused(
        ("= in[y * cols + x];", "= in[y * cols + x] + out[x * rows + y];"), "is read as well as written"
    ),
    _refused(("out[x * rows + y]", "out[x * rows + 2 * y]"), "it is not known that one of load and store"),
    _refused(("    if (x", "    y += 1;\n    if (x"), "stands before the check"),
)
