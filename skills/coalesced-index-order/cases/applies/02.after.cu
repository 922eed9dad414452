__global__ void scale_columns(float* out, const float* x, float factor, int rows, int columns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * columns) return;
    int column = i % columns, row = i / columns;
    out[row * columns + column] = factor * x[row * columns + column];
}
