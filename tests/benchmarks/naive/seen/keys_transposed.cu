#include <cuda_fp16.h>

// [batch, time, head, dim] -> [batch, head, dim, time], so that scores are a plain product
__global__ void transpose_keys(__half *kt, const __half *k, int B, int T, int H, int D)
{
  const size_t idx = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (idx >= (size_t)B * T * H * D) return;

  size_t rest = idx;
  const int d = rest % D;  rest /= D;
  const int h = rest % H;  rest /= H;
  const int t = rest % T;  rest /= T;
  const int b = rest;

  kt[(((size_t)b * H + h) * D + d) * T + t] = k[idx];
}

void launch_transpose_keys(__half *kt, const __half *k, int B, int T, int H, int D)
{
  const size_t total = (size_t)B * T * H * D;
  transpose_keys<<<(total + 511) / 512, 512>>>(kt, k, B, T, H, D);
}
