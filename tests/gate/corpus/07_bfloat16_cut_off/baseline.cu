#include <cuda_bf16.h>

__global__ void gelu(__nv_bfloat16 *y, const __nv_bfloat16 *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = __bfloat162float(x[i]);
    float g = 0.5f * v * (1.0f + erff(v * 0.70710678f));
    y[i] = __float2bfloat16(g);
}
