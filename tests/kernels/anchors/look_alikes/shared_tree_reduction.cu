__global__ void total(float* out, const float* inp) {
    float v = inp[threadIdx.x];
    for (int s = 16; s > 0; s /= 2) { v += __shfl_down_sync(~0u, v, s); }
    if (threadIdx.x == 0) { out[0] = v; }
}
// ---
__global__ void scan(float* out, const float* inp) {
    __shared__ float row[256];
    row[threadIdx.x] = inp[threadIdx.x];
    for (int s = 1; s < 256; s *= 2) {
        __syncthreads();
        float v = threadIdx.x >= s ? row[threadIdx.x - s] : 0.0f;
        __syncthreads();
        row[threadIdx.x] += v;
    }
    out[threadIdx.x] = row[threadIdx.x];
}
