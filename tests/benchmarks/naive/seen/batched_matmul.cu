__global__ void bmm(const float* A, const float* B, float* C, int M, int N, int K) {
    int batch = blockIdx.z;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {
        const float* a = A + batch * M * K;
        const float* b = B + batch * K * N;
        float acc = 0.0f;
        for (int k = 0; k < K; k++) {
            acc += a[row * K + k] * b[k * N + col];
        }
        C[batch * M * N + row * N + col] = acc;
    }
}

void run(const float* A, const float* B, float* C, int batches, int M, int N, int K) {
    dim3 block(16, 16);
    dim3 grid((N + 15) / 16, (M + 15) / 16, batches);
    bmm<<<grid, block>>>(A, B, C, M, N, K);
}
