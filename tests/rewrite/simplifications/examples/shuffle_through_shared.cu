// --- applies
__device__ float warp_sum(float v) {
    for (int offset = 16; offset > 0; offset /= 2) {
        v += __shfl_down_sync(~0u, v, offset);
    }
    return v;
}

__global__ void k(float* out, const float* x) {
    out[threadIdx.x] = __shfl_sync(~0u, warp_sum(__shfl_xor_sync(~0u, x[threadIdx.x], 1)), 0);
}
// --- becomes
__device__ int own_lane() {
    return ((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x) % 32;
}

template <typename T>
__device__ T exchanged(unsigned mask, T value, int lane) {
    __shared__ T held[1024];
    int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    held[thread] = value;
    __syncwarp(mask);
    T taken = held[lane >= 0 && lane < 32 ? thread - own_lane() + lane : thread];
    __syncwarp(mask);
    return taken;
}

__device__ float warp_sum(float v) {
    for (int offset = 16; offset > 0; offset /= 2) {
        v += exchanged(~0u, v, own_lane() + (offset));
    }
    return v;
}

__global__ void k(float* out, const float* x) {
    out[threadIdx.x] = exchanged(~0u, warp_sum(exchanged(~0u, x[threadIdx.x], own_lane() ^ (1))), (0) & 31);
}
// --- stays
__global__ void k(float* out, const float* x) { out[0] = __shfl_xor_sync(~0u, x[0], 1, 16); }
