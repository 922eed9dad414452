__global__ void block_sums(float* out, const float* x, int n) {
    __shared__ float part[32];
    int tid = threadIdx.x;
    int i = blockIdx.x * blockDim.x + tid;
    float v = i < n ? x[i] : 0.0f;
    for (int offset = 16; offset > 0; offset >>= 1) { v += __shfl_down_sync(0xffffffffu, v, offset); }
    if (tid % 32 == 0) { part[tid / 32] = v; }
    __syncthreads();
    if (tid < 32) {
        v = tid < blockDim.x / 32 ? part[tid] : 0.0f;
        for (int offset = 16; offset > 0; offset >>= 1) { v += __shfl_down_sync(0xffffffffu, v, offset); }
        if (tid == 0) { out[blockIdx.x] = v; }
    }
}
