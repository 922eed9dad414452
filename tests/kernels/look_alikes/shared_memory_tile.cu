__device__ void keep(const float* from, float* to) { to[0] = from[threadIdx.x]; }
__global__ void copy(float* out, const float* inp) {
    float own[4];
    keep(inp, own);
    out[threadIdx.x] = own[0];
}
// ---
__global__ void total(float* out, const float* inp, int n) {
    __shared__ float part[256];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) { sum += inp[i]; }
    part[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) { out[0] = part[0] + part[1]; }
}
// ---
__global__ void total(float* out, const float* inp) {
    __shared__ float part[256];
    part[threadIdx.x] = inp[blockIdx.x * 256 + threadIdx.x];
    for (int s = 128; s > 0; s /= 2) {
        __syncthreads();
        if (threadIdx.x < s) { part[threadIdx.x] += part[threadIdx.x + s]; }
    }
    if (threadIdx.x == 0) { out[blockIdx.x] = part[0]; }
}
// ---
__global__ void copy(float* out, const float* inp) {
    float tile[4];
    tile[0] = inp[threadIdx.x];
    out[threadIdx.x] = tile[0];
}
