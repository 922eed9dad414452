#include <cuda_fp16.h>

__global__ void silu(const half* x, half* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = __half2float(x[i]);
        float s = 1.0f / (1.0f + expf(-v));
        y[i] = __float2half(v * s);
    }
}

void silu_forward(const half* x, half* y, int n) {
    int threads = 256;
    int blocks = (n + threads - 1) / threads;
    silu<<<blocks, threads>>>(x, y, n);
}
