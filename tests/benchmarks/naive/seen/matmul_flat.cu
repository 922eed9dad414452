// C = A B, one thread for each element, counted by one index
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < M * N) {
        int row = idx / N;
        int col = idx % N;
        float sum = 0.0f;
        for (int k = 0; k < K; k++) {
            sum += A[row * K + k] * B[k * N + col];
        }
        C[idx] = sum;
    }
}

void launch(const float* A, const float* B, float* C, int M, int N, int K) {
    int threads = 256;
    int blocks = (M * N + threads - 1) / threads;
    matmul<<<blocks, threads>>>(A, B, C, M, N, K);
}
