__global__ void row_sums(float* out, const float* x, int N, int C) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = lane; i < C; i += 32) { sum += x[row * C + i]; }
    for (int offset = 16; offset > 0; offset >>= 1) { sum += __shfl_xor_sync(0xffffffffu, sum, offset); }
    if (lane == 0) { out[row] = sum; }
}
