// y[b] = A[b] x[b]
__global__ void batched_gemv(const float* A, const float* x, float* y, int M, int K) {
    int b = blockIdx.y;
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= M) return;
    float acc = 0.f;
    for (int k = 0; k < K; k++)
        acc += A[(b * M + m) * K + k] * x[b * K + k];
    y[b * M + m] = acc;
}

void launch(const float* A, const float* x, float* y, int B, int M, int K) {
    dim3 grid((M + 127) / 128, B);
    batched_gemv<<<grid, 128>>>(A, x, y, M, K);
}
