__global__ void total(float* out, const float* inp) {
    __shared__ float part[256];
    int tid = threadIdx.x;
    part[tid] = inp[blockIdx.x * 256 + tid];
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) { part[tid] += part[tid + s]; }
        __syncthreads();
    }
    if (tid == 0) { out[blockIdx.x] = part[0]; }
}
// ---
__global__ void highest(float* out, const float* inp) {
    extern __shared__ float part[];
    part[threadIdx.x] = inp[threadIdx.x];
    for (int s = 128; s >= 1; s /= 2) {
        __syncthreads();
        if (threadIdx.x < s) { part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + s]); }
    }
    if (threadIdx.x == 0) { out[0] = part[0]; }
}
