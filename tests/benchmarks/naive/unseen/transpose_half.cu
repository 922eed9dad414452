#include <cuda_fp16.h>

__global__ void mat_transpose(__half* dst, const __half* src, int H, int W) {
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= H || j >= W) return;
    dst[j * H + i] = src[i * W + j];
}

void run(__half* dst, const __half* src, int H, int W) {
    dim3 threads(16, 16);
    mat_transpose<<<dim3((W + 15) / 16, (H + 15) / 16), threads>>>(dst, src, H, W);
}
