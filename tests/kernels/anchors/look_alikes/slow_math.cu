__global__ void soft(float* out, const float* inp, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;  // expf(inp[i]) is slower
    if (i < n) { out[i] = __expf(inp[i]) / 2.0f; }
}
// ---
__global__ void rows(float* out, const float* inp, int n, int C) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) { out[i / C] = inp[i]; }
}
// ---
__global__ void grow(double* out, const double* inp) { out[threadIdx.x] = exp(inp[threadIdx.x]); }
