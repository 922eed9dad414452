#include <cuda_fp16.h>

// y = x + gate * h, with a gate per channel (the last axis), one thread an element.
__global__ void gated_residual(__half* y, const __half* x, const __half* h, const float* gate, int total, int channels) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) {
        float g = gate[i % channels];
        y[i] = __float2half(__half2float(x[i]) + g * __half2float(h[i]));
    }
}

void launch(__half* y, const __half* x, const __half* h, const float* gate, int total, int channels) {
    gated_residual<<<(total + 255) / 256, 256>>>(y, x, h, gate, total, channels);
}
