__global__ void total(float* out, const float* inp) {
    __shared__ float part[256];
    int tid = threadIdx.x;
    part[tid] = inp[tid];
    __syncthreads();
    for (int s = 1; s < 256; s *= 2) {
        if (tid % (2 * s) == 0) { part[tid] += part[tid + s]; }
        __syncthreads();
    }
    if (tid == 0) { out[0] = part[0]; }
}
// ---
__global__ void shift(float* out, const float* inp, int n) {
    __shared__ float row[256];
    row[threadIdx.x] = inp[threadIdx.x];
    __syncthreads();
    for (int s = 1; s < n; s++) { out[s * 256 + threadIdx.x] = threadIdx.x >= s ? row[threadIdx.x - s] : 0.0f; }
}
