__global__ void total(float* out, const float* inp, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { atomicAdd(out, inp[i]); }
}
// ---
__global__ void histogram(int* bins, const int* inp, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { atomicAdd(&bins[inp[i]], 1); }
}
// ---
__global__ void bias_gradient(float* dbias, const float* dout, int C) {
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        atomicAdd(&dbias[i], dout[blockIdx.x * C + i]);
    }
}
