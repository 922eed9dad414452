#include <cuda_fp16.h>

__global__ void hgemm(const half* a, const half* b, half* c, int m, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < m && col < n) {
        float acc = 0.0f;
        for (int p = 0; p < k; p++) {
            acc += __half2float(a[row * k + p]) * __half2float(b[p * n + col]);
        }
        c[row * n + col] = __float2half(acc);
    }
}

void run(const half* a, const half* b, half* c, int m, int n, int k) {
    dim3 threads(16, 16);
    dim3 blocks((n + 15) / 16, (m + 15) / 16);
    hgemm<<<blocks, threads>>>(a, b, c, m, n, k);
}
