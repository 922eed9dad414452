__global__ void fill(float* out, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) { out[blockIdx.x * n + i] = gridDim.x; }
}
// ---
__global__ void fill(float* out, int tiles) {
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) { out[t * 256 + threadIdx.x] = 1.0f; }
}
