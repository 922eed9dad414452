__global__ void total(float* out, const float* inp, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { atomicAdd(out, inp[i]); }
}
// ---
__global__ void row_totals(float* out, const float* inp) {
    float v = inp[blockIdx.x * blockDim.x + threadIdx.x];
    for (int o = 16; o > 0; o /= 2) { v += __shfl_down_sync(~0u, v, o); }
    if (threadIdx.x % 32 == 0) { atomicAdd(&out[blockIdx.x], v); }
}
