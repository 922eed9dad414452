__global__ void scale(float* y, const float* x, int n, int times) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    for (int k = 0; k < times; k++) { v *= 0.5f; }
    y[i] = v;
}
// ---
__global__ void strided(float* y, const float* x, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) { y[i] = 2 * x[i]; }
}
