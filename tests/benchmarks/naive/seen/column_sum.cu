__global__ void column_sum(const float* x, float* out, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col < cols) {
        float sum = 0.0f;
        for (int r = 0; r < rows; r++) {
            sum += x[r * cols + col];
        }
        out[col] = sum;
    }
}

void run(const float* x, float* out, int rows, int cols) {
    column_sum<<<(cols + 255) / 256, 256>>>(x, out, rows, cols);
}
