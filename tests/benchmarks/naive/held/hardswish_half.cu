#include <cuda_fp16.h>

__global__ void hardswish(half* data, size_t n) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = __half2float(data[i]);
    float gate = fminf(fmaxf(x + 3.0f, 0.0f), 6.0f);
    data[i] = __float2half(x * gate / 6.0f);
}

void run(half* data, size_t n) {
    hardswish<<<(n + 255) / 256, 256>>>(data, n);
}
