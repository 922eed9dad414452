// facts: launch.block.x = 64, launch.block.y = 4, launch.block.z = 1
// because: launch.block.y == 1 and launch.block.z == 1
__global__ void row_sums(float* out, const float* x) {
    __shared__ float part[64];
    int tid = threadIdx.x;
    part[tid] = x[blockIdx.x * blockDim.x + tid];
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) { part[tid] += part[tid + s]; }
        __syncthreads();
    }
    if (tid == 0) { out[blockIdx.x] = part[0]; }
}
