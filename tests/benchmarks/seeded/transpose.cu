// y (N, M) = transpose of x (M, N), through a tile with a padded column.
#define TILE 16
__global__ void transpose_padded(float* y, const float* x, int M, int N) {
    __shared__ float tile[TILE][TILE + 1];
    int col = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    if (row < M && col < N) {
        tile[threadIdx.y][threadIdx.x] = x[row * N + col];
    }
    __syncthreads();
    int to_col = blockIdx.y * TILE + threadIdx.x, to_row = blockIdx.x * TILE + threadIdx.y;
    if (to_row < N && to_col < M) {
        y[to_row * M + to_col] = tile[threadIdx.x][threadIdx.y];
    }
}

// The same, with the column swizzled by the row instead of padding.
__global__ void transpose_swizzled(float* y, const float* x, int M, int N) {
    __shared__ float tile[TILE][TILE];
    int col = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    if (row < M && col < N) {
        tile[threadIdx.y][threadIdx.x ^ threadIdx.y] = x[row * N + col];
    }
    __syncthreads();
    int to_col = blockIdx.y * TILE + threadIdx.x, to_row = blockIdx.x * TILE + threadIdx.y;
    if (to_row < N && to_col < M) {
        y[to_row * M + to_col] = tile[threadIdx.x][threadIdx.y ^ threadIdx.x];
    }
}
