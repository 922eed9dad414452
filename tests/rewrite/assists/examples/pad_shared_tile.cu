// --- transpose applies
#define TILE 32

__global__ void transpose(float* out, const float* in, int rows, int columns) {
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    if (x < columns && y < rows) {
        tile[threadIdx.y][threadIdx.x] = in[y * columns + x];
    }
    __syncthreads();
    int tx = blockIdx.y * TILE + threadIdx.x;
    int ty = blockIdx.x * TILE + threadIdx.y;
    if (tx < rows && ty < columns) {
        out[ty * rows + tx] = tile[threadIdx.x][threadIdx.y];
    }
}

void launch(float* out, const float* in, int rows, int columns) {
    dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    transpose<<<grid, dim3(TILE, TILE)>>>(out, in, rows, columns);
}
// --- transpose becomes
#define TILE 32

__global__ void transpose(float* out, const float* in, int rows, int columns) {
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    if (x < columns && y < rows) {
        tile[threadIdx.y][threadIdx.x] = in[y * columns + x];
    }
    __syncthreads();
    int tx = blockIdx.y * TILE + threadIdx.x;
    int ty = blockIdx.x * TILE + threadIdx.y;
    if (tx < rows && ty < columns) {
        out[ty * rows + tx] = tile[threadIdx.x][threadIdx.y];
    }
}

void launch(float* out, const float* in, int rows, int columns) {
    dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    transpose<<<grid, dim3(TILE, TILE)>>>(out, in, rows, columns);
}
// --- transpose refuses: would not follow the new row length
#define TILE 32

__global__ void transpose(float* out, const float* in, int rows, int columns) {
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    if (x < columns && y < rows) {
        tile[threadIdx.y][threadIdx.x] = in[y * columns + x];
    }
    __syncthreads();
    int tx = blockIdx.y * TILE + threadIdx.x;
    int ty = blockIdx.x * TILE + threadIdx.y;
    if (tx < rows && ty < columns) {
        out[ty * rows + tx] = (&tile[0][0])[threadIdx.x * TILE + threadIdx.y];
    }
}

void launch(float* out, const float* in, int rows, int columns) {
    dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    transpose<<<grid, dim3(TILE, TILE)>>>(out, in, rows, columns);
}
// --- transpose refuses: no access of tile walks down a column
#define TILE 32

__global__ void transpose(float* out, const float* in, int rows, int columns) {
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    if (x < columns && y < rows) {
        tile[threadIdx.y][threadIdx.x] = in[y * columns + x];
    }
    __syncthreads();
    int tx = blockIdx.y * TILE + threadIdx.x;
    int ty = blockIdx.x * TILE + threadIdx.y;
    if (tx < rows && ty < columns) {
        out[ty * rows + tx] = tile[threadIdx.y][threadIdx.x];
    }
}

void launch(float* out, const float* in, int rows, int columns) {
    dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    transpose<<<grid, dim3(TILE, TILE)>>>(out, in, rows, columns);
}
// --- transpose refuses: do not begin in the same bank
#define TILE 108

__global__ void transpose(float* out, const float* in, int rows, int columns) {
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    if (x < columns && y < rows) {
        tile[threadIdx.y][threadIdx.x] = in[y * columns + x];
    }
    __syncthreads();
    int tx = blockIdx.y * TILE + threadIdx.x;
    int ty = blockIdx.x * TILE + threadIdx.y;
    if (tx < rows && ty < columns) {
        out[ty * rows + tx] = tile[threadIdx.x][threadIdx.y];
    }
}

void launch(float* out, const float* in, int rows, int columns) {
    dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    transpose<<<grid, dim3(TILE, TILE)>>>(out, in, rows, columns);
}
// --- transpose refuses: 48 KiB
#define TILE 32

__global__ void transpose(float* out, const float* in, int rows, int columns) {
    __shared__ float tile[TILE][TILE];
    __shared__ float other[90][128];
    other[threadIdx.x][0] = 0.0f;
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    if (x < columns && y < rows) {
        tile[threadIdx.y][threadIdx.x] = in[y * columns + x];
    }
    __syncthreads();
    int tx = blockIdx.y * TILE + threadIdx.x;
    int ty = blockIdx.x * TILE + threadIdx.y;
    if (tx < rows && ty < columns) {
        out[ty * rows + tx] = tile[threadIdx.x][threadIdx.y];
    }
}

void launch(float* out, const float* in, int rows, int columns) {
    dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    transpose<<<grid, dim3(TILE, TILE)>>>(out, in, rows, columns);
}
