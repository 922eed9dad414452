// --- applies
__device__ float warp_sum(float v) {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        v += __shfl_xor_sync(~0u, v, lanes);
    }
    return v;
}

__global__ void k(float* out, const float* x, int C) {
    int lane = threadIdx.x % 32;
    float sum = 0.0f;
    for (int i = lane; i < C; i += 32) {
        float v = x[blockIdx.x * C + i];
        sum += v * v;
    }
    sum = warp_sum(sum);
    out[blockIdx.x] = sum;
}
// --- becomes
__device__ float warp_sum(float v) {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        v += __shfl_xor_sync(~0u, v, lanes);
    }
    return v;
}

__global__ void k(float* out, const float* x, int C) {
    int lane = threadIdx.x % 32;
    float sum = 0.0f;
    for (int i = 0; i < C; i += 1) {
        float v = x[blockIdx.x * C + i];
        sum += v * v;
    }
    out[blockIdx.x] = sum;
}
// --- stays
__device__ float warp_sum(float v) {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        v += __shfl_xor_sync(~0u, v, lanes);
    }
    return v;
}

__global__ void k(float* out, const float* x, int C) {
    int lane = threadIdx.x % 32;
    float sum = 0.0f;
    for (int i = lane; i < C; i += 32) {
        float v = x[blockIdx.x * C + i];
        sum += v * v;
        out[i] = v;
    }
    sum = warp_sum(sum);
    out[blockIdx.x] = sum;
}
// --- stays
__device__ float warp_sum(float v) {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        v += __shfl_xor_sync(~0u, v, lanes);
    }
    return v;
}

__global__ void k(float* out, const float* x, int C) {
    int lane = threadIdx.x % 32;
    float sum = 0.0f;
    for (int i = 0; i < C; i += 1) {
        float v = x[blockIdx.x * C + i];
        sum += v * v;
    }
    sum = warp_sum(sum);
    out[blockIdx.x] = sum;
}
