// facts: N = 4096, C = 256, launch.block.x = 100
// because: threads % 32 == 0
__global__ void row_sums(float* out, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { sum += x[row * C + i]; }
    out[row] = sum;
}
