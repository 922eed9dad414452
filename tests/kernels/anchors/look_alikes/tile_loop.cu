__global__ void total(float* out, const float* x) {
    __shared__ float part[256];
    part[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (threadIdx.x < s) { part[threadIdx.x] += part[threadIdx.x + s]; }
        __syncthreads();
    }
    out[0] = part[0];
}
// ---
__global__ void shift(float* out, const float* x, int n) {
    __shared__ float part[128];
    part[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    for (int t = 0; t < n; t++) { out[t * 128 + threadIdx.x] = part[(threadIdx.x + t) % 128]; }
    __syncthreads();
}
