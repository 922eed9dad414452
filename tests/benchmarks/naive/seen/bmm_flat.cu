__global__ void bmm(const float* A, const float* B, float* C, int batch, int M, int N, int K) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    int total = batch * M * N;
    if (idx >= total) return;
    int b = idx / (M * N);
    int r = idx % (M * N);
    int i = r / N;
    int j = r % N;
    float acc = 0.f;
    for (int k = 0; k < K; ++k) acc += A[b * M * K + i * K + k] * B[b * K * N + k * N + j];
    C[idx] = acc;
}

void launch(const float* A, const float* B, float* C, int batch, int M, int N, int K) {
    bmm<<<(batch * M * N + 255) / 256, 256>>>(A, B, C, batch, M, N, K);
}
