#define T 16
__global__ void matmul(float* c, const float* a, const float* b, int M, int N, int K) {
    __shared__ float a_tile[2][T][T];
    __shared__ float b_tile[2][T][T];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int column = blockIdx.x * T + tx;
    int row = blockIdx.y * T + ty;
    a_tile[0][ty][tx] = row < M && tx < K ? a[row * K + tx] : 0.0f;
    b_tile[0][ty][tx] = ty < K && column < N ? b[ty * N + column] : 0.0f;
    __syncthreads();
    float sum = 0.0f;
    int stage = 0;
    for (int k0 = 0; k0 < K; k0 += T) {
        int next = k0 + T;
        if (next < K) {
            a_tile[stage ^ 1][ty][tx] = row < M && next + tx < K ? a[row * K + next + tx] : 0.0f;
            b_tile[stage ^ 1][ty][tx] = next + ty < K && column < N ? b[(next + ty) * N + column] : 0.0f;
        }
        for (int k = 0; k < T; k++) { sum += a_tile[stage][ty][k] * b_tile[stage][k][tx]; }
        __syncthreads();
        stage ^= 1;
    }
    if (row < M && column < N) { c[row * N + column] = sum; }
}
