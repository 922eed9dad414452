// out (cols, rows) = transpose of x (rows, cols).

__global__ void transpose(float* out, const float* x, int rows, int cols) {
    int c = blockIdx.x * 32 + threadIdx.y;
    int r = blockIdx.y * 32 + threadIdx.x;
    if (r < rows && c < cols) {
        out[c * rows + r] = x[r * cols + c];
    }
}

void launch_transpose(float* out, const float* x, int rows, int cols) {
    dim3 grid((cols + 31) / 32, (rows + 31) / 32);
    dim3 block(32, 32);
    transpose<<<grid, block>>>(out, x, rows, cols);
}
