__global__ void scale(float* out, const float* x, float factor, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        out[i] = factor * x[i];
    }
}
void scale_all(float* out, const float* x, float factor, int n, int multiprocessors) {
    int blocks = (n + 255) / 256;
    int most = 8 * multiprocessors;
    scale<<<blocks < most ? blocks : most, 256>>>(out, x, factor, n);
}
