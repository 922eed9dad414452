#include <cuda_fp16.h>

__global__ void dequantize(const unsigned char* q, __half* out, float scale, int zero, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __float2half(scale * (float)((int)q[i] - zero));
}

void run(const unsigned char* q, __half* out, float scale, int zero, int n) {
    dequantize<<<(n + 255) / 256, 256>>>(q, out, scale, zero, n);
}
