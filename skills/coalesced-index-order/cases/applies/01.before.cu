// facts: contiguous(x) = True
__global__ void scale(float* out, const float* x, float factor, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) { out[row * columns + column] = factor * x[row * columns + column]; }
}
