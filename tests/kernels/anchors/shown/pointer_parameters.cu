__global__ void scale(float* out, float* inp, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = 2.0f * inp[i]; }
}
// ---
__global__ void scale(float* __restrict__ out, const float* inp, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = 2.0f * inp[i]; }
}
