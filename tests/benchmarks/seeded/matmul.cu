// c (M, N) = a (M, K) b (K, N), through two tiles of shared memory.
#define TILE 8
__global__ void matmul(float* c, const float* a, const float* b, int M, int N, int K) {
    __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
    float sum = 0.0f;
    for (int t = 0; t < (K + TILE - 1) / TILE; t++) {
        int ka = t * TILE + x, kb = t * TILE + y;
        tile_a[y][x] = row < M && ka < K ? a[row * K + ka] : 0.0f;
        tile_b[y][x] = kb < K && col < N ? b[kb * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; k++) {
            sum += tile_a[y][k] * tile_b[k][x];
        }
        __syncthreads();
    }
    if (row < M && col < N) {
        c[row * N + col] = sum;
    }
}

// The same with two buffers: while one tile is multiplied, the next is fetched.
__global__ void matmul_double_buffered(float* c, const float* a, const float* b, int M, int N, int K) {
    __shared__ float tile_a[2][TILE][TILE], tile_b[2][TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
    int tiles = (K + TILE - 1) / TILE;
    float sum = 0.0f;
    tile_a[0][y][x] = row < M && x < K ? a[row * K + x] : 0.0f;
    tile_b[0][y][x] = y < K && col < N ? b[y * N + col] : 0.0f;
    __syncthreads();
    for (int t = 0; t < tiles; t++) {
        int now = t % 2, next = 1 - now;
        if (t + 1 < tiles) {
            int ka = (t + 1) * TILE + x, kb = (t + 1) * TILE + y;
            tile_a[next][y][x] = row < M && ka < K ? a[row * K + ka] : 0.0f;
            tile_b[next][y][x] = kb < K && col < N ? b[kb * N + col] : 0.0f;
        }
        for (int k = 0; k < TILE; k++) {
            sum += tile_a[now][y][k] * tile_b[now][k][x];
        }
        __syncthreads();
    }
    if (row < M && col < N) {
        c[row * N + col] = sum;
    }
}
