__global__ void steps(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const volatile float *in = x;
    float v = in[i] + in[n + i] + in[2 * n + i];
    y[i] = (v != v ? 0.0f : 1.0f) * (i % 97);
}
