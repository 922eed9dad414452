// facts: launch.block.y = 1, launch.block.z = 1
// because: n % 32 == 0
__global__ void block_sums(float* out, const float* x, int n) {
    __shared__ float part[16];
    int tid = threadIdx.x;
    int i = blockIdx.x * blockDim.x + tid;
    part[tid] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int s = 8; s > 0; s >>= 1) {
        if (tid < s) { part[tid] += part[tid + s]; }
        __syncthreads();
    }
    if (tid == 0) { out[blockIdx.x] = part[0]; }
}
