// Step 3: each thread keeps a column of four outputs in registers.

#define TILE 16
#define ROWS_PER_THREAD 4

__global__ void sgemm_register_tile(float* C, const float* A, const float* B, int M, int N, int K) {
    __shared__ float a[TILE * ROWS_PER_THREAD][TILE];
    __shared__ float b[TILE][TILE];
    int row0 = blockIdx.y * TILE * ROWS_PER_THREAD;
    int col = blockIdx.x * TILE + threadIdx.x;
    float sum[ROWS_PER_THREAD] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int k0 = 0; k0 < K; k0 += TILE) {
        int ka = k0 + threadIdx.x;
        int kb = k0 + threadIdx.y;
        for (int r = 0; r < ROWS_PER_THREAD; r++) {
            int row = row0 + threadIdx.y + r * TILE;
            a[threadIdx.y + r * TILE][threadIdx.x] = row < M && ka < K ? A[row * K + ka] : 0.0f;
        }
        b[threadIdx.y][threadIdx.x] = kb < K && col < N ? B[kb * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; k++) {
            float bk = b[k][threadIdx.x];
            for (int r = 0; r < ROWS_PER_THREAD; r++) {
                sum[r] += a[threadIdx.y + r * TILE][k] * bk;
            }
        }
        __syncthreads();
    }
    for (int r = 0; r < ROWS_PER_THREAD; r++) {
        int row = row0 + threadIdx.y + r * TILE;
        if (row < M && col < N) {
            C[row * N + col] = sum[r];
        }
    }
}

void launch_sgemm_register_tile(float* C, const float* A, const float* B, int M, int N, int K) {
    dim3 grid((N + TILE - 1) / TILE, (M + TILE * ROWS_PER_THREAD - 1) / (TILE * ROWS_PER_THREAD));
    dim3 block(TILE, TILE);
    sgemm_register_tile<<<grid, block>>>(C, A, B, M, N, K);
}
