// facts: launch.block.x = 48
// because: launch.block.x % 32 == 0
__global__ void mixed(float* out, const float* x, const float* weights, int rows, int cols) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= cols) return;
    float sum = out[col];
    for (int r = 1; r <= rows; r++) { sum += weights[r - 1] * x[(r - 1) * cols + col]; }
    out[col] = sum;
}
