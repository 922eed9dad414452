// sparse matrix times vector, one thread for each row
__global__ void spmv(float* y, const float* val, const int* col, const int* ptr, const float* x, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        for (int j = ptr[row]; j < ptr[row + 1]; j++) sum += val[j] * x[col[j]];
        y[row] = sum;
    }
}

void launch(float* y, const float* val, const int* col, const int* ptr, const float* x, int rows) {
    spmv<<<(rows + 255) / 256, 256>>>(y, val, col, ptr, x, rows);
}
