__global__ void scale(float* y, const float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { y[i] = a * x[i]; }
}
__global__ void shift(float* z, const float* y, float b, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) { z[i] = y[i] + b; }
}
void run(float* z, float* y, const float* x, float a, float b, int n) {
    scale<<<(n + 255) / 256, 256>>>(y, x, a, n);
    shift<<<132, 256>>>(z, y, b, n);
}
// ---
__global__ void fill(float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { y[i] = 1.0f; }  // shift<<<blocks, 256>>>(y, n) comes next
}
void run(float* y, int n) { fill<<<(n + 255) / 256, 256>>>(y, n); }
void again(float* y, int n) { fill<<<(n + 255) / 256, 256>>>(y, n); }
