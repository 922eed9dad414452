__global__ void affine(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    volatile float *out = y;
    for (int k = 0; k < 16; k++) out[i] = 2.0f * x[i] + 1.0f;
}
