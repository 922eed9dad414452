"""Examples of `give_row_to_block`: kernels before and after, besides those of `give_row_to_warp`."""

from __future__ import annotations

from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.model import AssistExample

_NORM = """\
__global__ void deviations(float* out, float* spread, const float* x, int rows, int width) {
    const unsigned int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    const float* mine = x + (size_t)r * width;
    float mean = 0.0f;
    for (int k = 0; k < width; ++k) mean += mine[k];
    mean = mean / width;
    float square = 0.0f, far = 0.0f;
    for (int k = 0; k < width; ++k) {
        const float away = mine[k] - mean;
        square += away * away;
        far = fmaxf(far, fabsf(away));
    }
    spread[r] = sqrtf(square / width);
    for (int k = 0; k < width; ++k) out[(size_t)r * width + k] = (mine[k] - mean) / (far + 0.5f);
}
void run(float* out, float* spread, const float* x, int rows, int width) {
    const int threads = 64;
    deviations<<<(rows + threads - 1) / threads, threads>>>(out, spread, x, rows, width);
}
"""
_TIMES = """\
__global__ void gated_sums(double* total, const double* x, const double* y, const int* live, int n, int m, int turns) {
  int at = threadIdx.x + blockDim.x * blockIdx.x;
  if (at < n) {
    double sum = total[at];
    for (int t = 0; t < turns; t++) {
      if (live[t] == 0) { continue; }
      double part = 0;
      for (int j = 0; j < m; j++) { part += x[at * m + j] * y[t * m + j]; }
      sum += part;
    }
    total[at] = sum;
  }
}
void all(double* total, const double* x, const double* y, const int* live, int n, int m, int turns) {
  dim3 block(96);
  dim3 grid((n + 95) / 96);
  gated_sums<<<grid, block>>>(total, x, y, live, n, m, turns);
}
"""
_NORM_AFTER = """\
__global__ void deviations(float* out, float* spread, const float* x, int rows, int width) {
    const unsigned int r = blockIdx.x;
    const int part = threadIdx.x;
    if (r >= rows) return;
    const float* mine = x + (size_t)r * width;
    float mean = 0.0f;
    for (int k = part; k < width; k += blockDim.x) mean += mine[k];
    for (int offset = 16; offset > 0; offset /= 2) {
        mean += __shfl_xor_sync(0xffffffffu, mean, offset);
    }
    __shared__ float mean_of_warps[32];
    if (threadIdx.x % 32 == 0) { mean_of_warps[threadIdx.x / 32] = mean; }
    __syncthreads();
    mean = mean_of_warps[0];
    for (int warp = 1; warp < (int)blockDim.x / 32; warp++) {
        mean += mean_of_warps[warp];
    }
    mean = mean / width;
    float square = 0.0f, far = 0.0f;
    for (int k = part; k < width; k += blockDim.x) {
        const float away = mine[k] - mean;
        square += away * away;
        far = fmaxf(far, fabsf(away));
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        far = fmaxf(far, __shfl_xor_sync(0xffffffffu, far, offset));
        square += __shfl_xor_sync(0xffffffffu, square, offset);
    }
    __shared__ float far_of_warps[32];
    __shared__ float square_of_warps[32];
    if (threadIdx.x % 32 == 0) { far_of_warps[threadIdx.x / 32] = far; square_of_warps[threadIdx.x / 32] = square; }
    __syncthreads();
    far = far_of_warps[0];
    square = square_of_warps[0];
    for (int warp = 1; warp < (int)blockDim.x / 32; warp++) {
        far = fmaxf(far, far_of_warps[warp]);
        square += square_of_warps[warp];
    }
    __syncthreads();
    if (part == 0) { spread[r] = sqrtf(square / width); }
    __syncthreads();
    for (int k = part; k < width; k += blockDim.x) out[(size_t)r * width + k] = (mine[k] - mean) / (far + 0.5f);
}
void run(float* out, float* spread, const float* x, int rows, int width) {
    const int threads = 64;
    deviations<<<((rows + threads - 1) / threads) * threads, 256>>>(out, spread, x, rows, width);
}
"""
_TIMES_AFTER = """\
__global__ void gated_sums(double* total, const double* x, const double* y, const int* live, int n, int m, int turns) {
  int at = blockIdx.x;
  const int part_ = threadIdx.x;
  if (at < n) {
    double sum = total[at];
    for (int t = 0; t < turns; t++) {
      if (live[t] == 0) { continue; }
      double part = 0;
      for (int j = part_; j < m; j += blockDim.x) { part += x[at * m + j] * y[t * m + j]; }
      for (int offset = 16; offset > 0; offset /= 2) {
        part += __shfl_xor_sync(0xffffffffu, part, offset);
      }
      __shared__ double part_of_warps[32];
      if (threadIdx.x % 32 == 0) { part_of_warps[threadIdx.x / 32] = part; }
      __syncthreads();
      part = part_of_warps[0];
      for (int warp = 1; warp < (int)blockDim.x / 32; warp++) {
        part += part_of_warps[warp];
      }
      __syncthreads();
      sum += part;
    }
    __syncthreads();
    if (part_ == 0) { total[at] = sum; }
  }
}
void all(double* total, const double* x, const double* y, const int* live, int n, int m, int turns) {
  dim3 block(96);
  dim3 grid(((n + 95) / 96) * 96);
  gated_sums<<<grid, block>>>(total, x, y, live, n, m, turns);
}
"""

APPLIES = (
    AssistExample(Language.CUDA, "deviations", _NORM, _NORM_AFTER),
    AssistExample(Language.CUDA, "gated_sums", _TIMES, _TIMES_AFTER),
)
