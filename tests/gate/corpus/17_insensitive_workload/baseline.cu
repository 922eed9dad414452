__global__ void flag(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] > 3.0f ? x[i] : 0.0f;
}
