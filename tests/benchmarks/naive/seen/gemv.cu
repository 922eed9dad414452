__global__ void gemv(const float* A, const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float acc = 0.0f;
        for (int c = 0; c < cols; c++) {
            acc += A[r * cols + c] * x[c];
        }
        y[r] = acc;
    }
}

void run(const float* A, const float* x, float* y, int rows, int cols) {
    gemv<<<(rows + 127) / 128, 128>>>(A, x, y, rows, cols);
}
