#include <cstdint>

__global__ void gemm_i8(const int8_t* act, const int8_t* weight, float* out, int M, int N, int K, float scale) {
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    int n = blockIdx.y * blockDim.y + threadIdx.y;
    if (m < M && n < N) {
        int acc = 0;
        for (int k = 0; k < K; k++) {
            acc += (int)act[m * K + k] * (int)weight[n * K + k];
        }
        out[m * N + n] = (float)acc * scale;
    }
}

void run(const int8_t* act, const int8_t* weight, float* out, int M, int N, int K, float scale) {
    dim3 threads(16, 16);
    dim3 blocks((M + 15) / 16, (N + 15) / 16);
    gemm_i8<<<blocks, threads>>>(act, weight, out, M, N, K, scale);
}
