#define T 16
__global__ void matmul(float* c, const float* a, const float* b, int M, int N, int K) {
    __shared__ float a_tile[T][T];
    __shared__ float b_tile[T][T];
    int column = blockIdx.x * T + threadIdx.x;
    int row = blockIdx.y * T + threadIdx.y;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        int a_column = k0 + threadIdx.x;
        int b_row = k0 + threadIdx.y;
        a_tile[threadIdx.y][threadIdx.x] = row < M && a_column < K ? a[row * K + a_column] : 0.0f;
        b_tile[threadIdx.y][threadIdx.x] = b_row < K && column < N ? b[b_row * N + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < T; k++) { sum += a_tile[threadIdx.y][k] * b_tile[k][threadIdx.x]; }
        __syncthreads();
    }
    if (row < M && column < N) { c[row * N + column] = sum; }
}
