// facts: finite(x) = False
// because: finite(x)
__global__ void softmax_statistics(float* maxima, float* sums, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    const float* x_row = x + row * C;
    float m = -INFINITY;
    for (int i = 0; i < C; i++) { m = fmaxf(m, x_row[i]); }
    float s = 0.0f;
    for (int i = 0; i < C; i++) { s += expf(x_row[i] - m); }
    maxima[row] = m;
    sums[row] = s;
}
