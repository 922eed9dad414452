__global__ void total(float* out, const float* inp) {
    __shared__ float part[256];
    part[threadIdx.x] = inp[blockIdx.x * 256 + threadIdx.x];
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        __syncthreads();
        if (threadIdx.x < s) { part[threadIdx.x] += part[threadIdx.x + s]; }
    }
    if (threadIdx.x == 0) { out[blockIdx.x] = part[0]; }
}
// ---
__global__ void total(float* out, const float* inp) {
    __shared__ float part[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float v = inp[threadIdx.x];
    for (int o = 16; o > 0; o /= 2) { v += __shfl_down_sync(~0u, v, o); }
    if (lane == 0) { part[warp] = v; }
    __syncthreads();
    v = lane < blockDim.x / 32 ? part[lane] : 0.0f;
    for (int o = 16; o > 0; o /= 2) { v += __shfl_down_sync(~0u, v, o); }
    if (threadIdx.x == 0) { out[blockIdx.x] = v; }
}
// ---
__device__ float block_sum(float* part, float v) {
    part[threadIdx.x] = v;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) { part[threadIdx.x] += part[threadIdx.x + s]; }
        __syncthreads();
    }
    return part[0];
}
__global__ void total(float* out, const float* inp) {
    __shared__ float part[256];
    float s = block_sum(part, inp[threadIdx.x]);
    if (threadIdx.x == 0) { out[0] = s; }
}
// ---
__global__ void k(float* y, const float* x, int n) { __shared__ float s[256]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); for (int o = 128; o > 0; o >>= 1) { if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o]; __syncthreads(); } y[0] = s[0]; }
// ---
__global__ void k(float* y, const float* x, int n) { extern __shared__ float s[]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); for (unsigned o = blockDim.x / 2; o > 0; o /= 2) { if (threadIdx.x < o) s[threadIdx.x] = fmaxf(s[threadIdx.x], s[threadIdx.x + o]); __syncthreads(); } y[0] = s[0]; }
// ---
__global__ void k(float* y, const float* x, int n) { __shared__ float s[256]; auto b = cooperative_groups::this_thread_block(); s[threadIdx.x] = x[threadIdx.x]; b.sync(); for (int o = 128; o > 0; o >>= 1) { if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o]; b.sync(); } y[0] = s[0]; }
// ---
__global__ void k(float* y, const float* x, int n) { using R = cub::BlockReduce<float, 256>; __shared__ typename R::TempStorage t; float v = R(t).Sum(x[threadIdx.x]); if (threadIdx.x == 0) y[0] = v; }
// ---
__global__ void k(float* y, const float* x, int n) { typedef cub::BlockReduce<float, 128> R; __shared__ R::TempStorage t; float v = R(t).Reduce(x[threadIdx.x], cub::Max()); y[0] = v; }
// ---
__device__ void fold(float* s) { for (int o = 64; o > 0; o >>= 1) { if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o]; __syncthreads(); } }
__global__ void k(float* y, const float* x, int n) { __shared__ float s[128]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); fold(s); y[0] = s[0]; }
// ---
__global__ void k(float* y, const float* x, int n) { __shared__ float p[32]; int w = threadIdx.x / 32, l = threadIdx.x % 32; float v = x[threadIdx.x]; for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o); if (l == 0) p[w] = v; __syncthreads(); v = p[l]; y[0] = v; }
// ---
__global__ void k(float* y, const float* x, int n) { __shared__ float p[8]; float v = x[threadIdx.x]; if (threadIdx.x % 32 == 0) p[threadIdx.x / 32] = v; __syncthreads(); float s = 0; for (int i = 0; i < 8; i++) s += p[i]; y[0] = s; }
