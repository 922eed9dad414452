__global__ void affine(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    volatile float *out = y;
    for (int k = 0; k < 16; k++) out[i] = 2.0f * v + 1.0f;
}
