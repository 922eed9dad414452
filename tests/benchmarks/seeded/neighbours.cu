// Kernels whose threads read what their neighbours read or wrote.
#define BLOCK 64
#define RADIUS 2
__global__ void scan(float* y, const float* x, int C) {
    __shared__ float held[2][BLOCK];
    int t = threadIdx.x, from = 0;
    held[0][t] = t < C ? x[blockIdx.x * C + t] : 0.0f;
    __syncthreads();
    for (int step = 1; step < BLOCK; step *= 2) {
        int to = 1 - from;
        held[to][t] = held[from][t] + (t >= step ? held[from][t - step] : 0.0f);
        from = to;
        __syncthreads();
    }
    if (t < C) {
        y[blockIdx.x * C + t] = held[from][t];
    }
}

__global__ void histogram(int* bins, const int* x, int n) {
    __shared__ int local[32];
    if (threadIdx.x < 32) {
        local[threadIdx.x] = 0;
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&local[x[i]], 1);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
    }
}

__global__ void stencil(float* y, const float* x, int n) {
    __shared__ float near[BLOCK + 2 * RADIUS];
    int i = blockIdx.x * BLOCK + threadIdx.x, at = threadIdx.x + RADIUS;
    near[at] = i < n ? x[i] : 0.0f;
    if (threadIdx.x < RADIUS) {
        near[at - RADIUS] = i >= RADIUS ? x[i - RADIUS] : 0.0f;
        near[at + BLOCK] = i + BLOCK < n ? x[i + BLOCK] : 0.0f;
    }
    __syncthreads();
    if (i < n) {
        float sum = 0.0f;
        for (int k = -RADIUS; k <= RADIUS; k++) {
            sum += near[at + k] / (1 + k * k);
        }
        y[i] = sum;
    }
}

__global__ void laplace(float* y, const float* x, int M, int N) {
    int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row < M && col < N) {
        float centre = x[row * N + col];
        float up = row > 0 ? x[(row - 1) * N + col] : 0.0f;
        float down = row < M - 1 ? x[(row + 1) * N + col] : 0.0f;
        float left = col > 0 ? x[row * N + col - 1] : 0.0f;
        float right = col < N - 1 ? x[row * N + col + 1] : 0.0f;
        y[row * N + col] = up + down + left + right - 4.0f * centre;
    }
}

// Rows of a table, chosen by tokens, with a position added.
__global__ void embedding(float* y, const float* table, const int* tokens, int N, int C) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N * C) {
        int row = i / C, column = i % C;
        y[row * C + column] = table[tokens[row] * C + column] + 0.5f * row;
    }
}
