__global__ void softmax_statistics(float* maxima, float* sums, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    const float* x_row = x + row * C;
    float m = -INFINITY;
    float s = 0.0f;
    for (int i = 0; i < C; i++) {
        float v = x_row[i];
        float m_new = fmaxf(m, v);
        s = m_new == -INFINITY ? 0.0f : s * expf(m - m_new) + expf(v - m_new);
        m = m_new;
    }
    maxima[row] = m;
    sums[row] = s;
}
