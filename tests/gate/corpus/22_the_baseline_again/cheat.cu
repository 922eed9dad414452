__global__ void affine(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = x[i];
    for (int k = 0; k < 400; k++) value = __fadd_rn(value, 0.0f);
    y[i] = 2.0f * value + 1.0f;
}
