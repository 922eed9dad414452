__device__ float warp_sum(float v) {
    for (int o = 16; o > 0; o /= 2) { v += __shfl_down_sync(~0u, v, o); }
    return v;
}
__global__ void total(float* out, const float* inp) { out[threadIdx.x] = warp_sum(inp[threadIdx.x]); }
// ---
__global__ void shift(float* out, const float* inp) {
    __shared__ float row[256];
    row[threadIdx.x] = inp[threadIdx.x];
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) { out[threadIdx.x] += row[(threadIdx.x + s) % 256]; }
}
