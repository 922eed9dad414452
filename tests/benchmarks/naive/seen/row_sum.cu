__global__ void row_sum(const float* x, float* out, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        for (int c = 0; c < cols; c++) {
            sum += x[row * cols + c];
        }
        out[row] = sum;
    }
}

void run(const float* x, float* out, int rows, int cols) {
    row_sum<<<(rows + 127) / 128, 128>>>(x, out, rows, cols);
}
