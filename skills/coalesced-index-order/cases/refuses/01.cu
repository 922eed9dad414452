// because: not kernel.has("warp_shuffle")
__global__ void row_sums(float* out, const float* x, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < columns; k++) { sum += x[row * columns + k]; }
    for (int offset = 16; offset > 0; offset >>= 1) { sum += __shfl_down_sync(0xffffffffu, sum, offset); }
    if (threadIdx.x % 32 == 0) { out[row / 32] = sum; }
}
