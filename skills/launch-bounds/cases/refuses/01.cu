// facts: kernel.registers = 24
// because: kernel.registers > 32
__global__ void scale(float* out, const float* x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = factor * x[i]; }
}
void scale_all(float* out, const float* x, float factor, int n) {
    scale<<<(n + 255) / 256, 256>>>(out, x, factor, n);
}
