#define T 32
#define R 4
__global__ void matmul(float* c, const float* a, const float* b, int M, int N, int K) {
    __shared__ float a_tile[T][T];
    __shared__ float b_tile[T][T];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    float acc[R][R] = {};
    for (int k0 = 0; k0 < K; k0 += T) {
        for (int i = 0; i < R; i++) {
            for (int j = 0; j < R; j++) {
                int y = ty + i * (T / R);
                int x = tx + j * (T / R);
                int row = blockIdx.y * T + y;
                int column = blockIdx.x * T + x;
                a_tile[y][x] = row < M && k0 + x < K ? a[row * K + k0 + x] : 0.0f;
                b_tile[y][x] = k0 + y < K && column < N ? b[(k0 + y) * N + column] : 0.0f;
            }
        }
        __syncthreads();
        for (int k = 0; k < T; k++) {
            float left[R];
            float right[R];
            #pragma unroll
            for (int i = 0; i < R; i++) { left[i] = a_tile[ty + i * (T / R)][k]; }
            #pragma unroll
            for (int j = 0; j < R; j++) { right[j] = b_tile[k][tx + j * (T / R)]; }
            #pragma unroll
            for (int i = 0; i < R; i++) {
                #pragma unroll
                for (int j = 0; j < R; j++) { acc[i][j] += left[i] * right[j]; }
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < R; i++) {
        for (int j = 0; j < R; j++) {
            int row = blockIdx.y * T + ty + i * (T / R);
            int column = blockIdx.x * T + tx + j * (T / R);
            if (row < M && column < N) { c[row * N + column] = acc[i][j]; }
        }
    }
}
