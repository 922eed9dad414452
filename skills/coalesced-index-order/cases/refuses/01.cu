// because: no anchor
__global__ void scale(float* out, const float* x, float factor, int rows, int columns) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) { out[row * columns + column] = factor * x[row * columns + column]; }
}
