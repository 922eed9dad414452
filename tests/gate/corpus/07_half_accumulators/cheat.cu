#include <cuda_fp16.h>
__global__ void mean_square(float *y, const float *x, int C) {
    const float *row = x + blockIdx.x * C;
    __half part = __float2half(0.0f);
    for (int i = threadIdx.x; i < C; i += 32) part = __hadd(part, __float2half(row[i] * row[i]));
    float sum = __half2float(part);
    for (int s = 16; s > 0; s /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, s);
    if (threadIdx.x == 0) y[blockIdx.x] = sum / C;
}
