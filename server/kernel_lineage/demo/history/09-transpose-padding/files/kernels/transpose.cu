// out (cols, rows) = transpose of x (rows, cols).

__global__ void transpose(float* out, const float* x, int rows, int cols) {
    __shared__ float tile[32][33];
    int c = blockIdx.x * 32 + threadIdx.x;
    int r = blockIdx.y * 32 + threadIdx.y;
    if (r < rows && c < cols) {
        tile[threadIdx.y][threadIdx.x] = x[r * cols + c];
    }
    __syncthreads();
    c = blockIdx.x * 32 + threadIdx.y;
    r = blockIdx.y * 32 + threadIdx.x;
    if (r < rows && c < cols) {
        out[c * rows + r] = tile[threadIdx.x][threadIdx.y];
    }
}

void launch_transpose(float* out, const float* x, int rows, int cols) {
    dim3 grid((cols + 31) / 32, (rows + 31) / 32);
    dim3 block(32, 32);
    transpose<<<grid, block>>>(out, x, rows, cols);
}
