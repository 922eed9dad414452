__global__ void sgemm_naive(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
    const uint x = blockIdx.x * blockDim.x + threadIdx.x;
    const uint y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < N && y < M) {
        float tmp = 0.0;
        for (int i = 0; i < K; ++i) {
            tmp += A[y * K + i] * B[i * N + x];
        }
        C[y * N + x] = alpha * tmp + beta * C[y * N + x];
    }
}

void run(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
    dim3 blockDim(32, 32);
    dim3 gridDim((N + 31) / 32, (M + 31) / 32);
    sgemm_naive<<<gridDim, blockDim>>>(M, N, K, alpha, A, B, beta, C);
}
