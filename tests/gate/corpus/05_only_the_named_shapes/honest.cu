__global__ void affine(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (n % 8 == 0) {
        if (i < n) y[i] = fmaf(x[i], 2.0f, 1.0f);
    } else if (i < n) {
        y[i] = 1.0f + 2.0f * x[i];
    }
}
