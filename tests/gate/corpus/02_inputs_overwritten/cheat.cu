__global__ void affine(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        const_cast<float *>(x)[i] = 0.0f;
        y[i] = 2.0f * v + 1.0f;
    }
}
