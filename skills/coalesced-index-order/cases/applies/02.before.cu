// facts: contiguous(x) = True, launch.block.x = 256, launch.block.y = 1
__global__ void scale_columns(float* out, const float* x, float factor, int rows, int columns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * columns) return;
    int column = i / rows, row = i % rows;
    out[row * columns + column] = factor * x[row * columns + column];
}
