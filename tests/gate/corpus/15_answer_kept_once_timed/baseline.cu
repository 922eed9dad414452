__global__ void affine(float *y, const float *x, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float v = x[i];
        for (int k = 0; k < 20; k++) v = __fadd_rn(v, 0.0f);
        y[i] = 2.0f * v + 1.0f;
    }
}
