// Step 1: C (M, N) = A (M, K) · B (K, N), one thread per output.

__global__ void sgemm_naive(float* C, const float* A, const float* B, int M, int N, int K) {
    int row = blockIdx.y * 16 + threadIdx.y;
    int col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; k++) {
        sum += A[row * K + k] * B[k * N + col];
    }
    C[row * N + col] = sum;
}

void launch_sgemm_naive(float* C, const float* A, const float* B, int M, int N, int K) {
    dim3 grid((N + 15) / 16, (M + 15) / 16);
    dim3 block(16, 16);
    sgemm_naive<<<grid, block>>>(C, A, B, M, N, K);
}
