__global__ void row_sums(float* out, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    const float* x_row = x + row * C;
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { sum += x_row[i]; }
    out[row] = sum;
}
