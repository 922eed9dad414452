__global__ void matmul(float* c, const float* a, const float* b, int M, int N, int K) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < M && column < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; k++) { sum += a[row * K + k] * b[k * N + column]; }
        c[row * N + column] = sum;
    }
}
