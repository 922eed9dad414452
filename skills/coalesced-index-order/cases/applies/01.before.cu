// facts: contiguous(x) = True, launch.block.x = 16, launch.block.y = 16
__global__ void scale(float* out, const float* x, float factor, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) { out[row * columns + column] = factor * x[row * columns + column]; }
}
