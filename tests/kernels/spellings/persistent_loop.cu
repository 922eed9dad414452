__global__ void fill(float* out, int tiles) {
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) { out[t * 256 + threadIdx.x] = 1.0f; }
}
// ---
__global__ void k(float* y, int n) { for (int t = blockIdx.x; t < n; t += gridDim.x) y[t * 64 + threadIdx.x] = 0; }
// ---
__global__ void k(float* y, int n) { for (int t = blockIdx.x; t < n; t = t + gridDim.x) { y[t * blockDim.x + threadIdx.x] = 0; } }
// ---
__global__ void k(float* y, int n) { const int blocks = gridDim.x; for (int t = blockIdx.x; t < n; t += blocks) y[t * 64 + threadIdx.x] = 0; }
// ---
__global__ void k(float* y, int n) { int t = blockIdx.x; while (t < n) { y[t * 64 + threadIdx.x] = 0; t += gridDim.x; } }
