__global__ void soft(float* out, const float* inp) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = expf(inp[i]) / sqrtf(inp[i]);  // __expf is less exact
}
// ---
__global__ void soft(float* out, const float* rsqrtf) { out[threadIdx.x] = rsqrtf[threadIdx.x]; }
