// facts: launch.block.x = 16, launch.block.y = 16, launch.block.z = 1, device.compute_capability = (9, 0)
#include <cuda_fp16.h>

__global__ void half_product(half* c, const half* a, const half* b, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; k++) {
            sum += __half2float(a[row * K + k]) * __half2float(b[k * N + col]);
        }
        c[row * N + col] = __float2half(sum);
    }
}
