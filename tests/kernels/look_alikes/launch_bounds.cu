// __launch_bounds__(256)
__global__ void fill(float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = 1.0f; }
}
// ---
__global__ void fill(float* out, int launch_bounds) {
    if (threadIdx.x < launch_bounds) { out[threadIdx.x] = 1.0f; }
}
