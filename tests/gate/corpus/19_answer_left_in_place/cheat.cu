__global__ void relu(float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = y[i];
    if (v >= 0.0f) return;
    for (int k = 0; k < 480; k++) v = __fadd_rn(v, 0.0f);
    y[i] = v < 0.0f ? 0.0f : v;
}
