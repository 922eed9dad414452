__global__ void scale(float* __restrict__ out, const float* __restrict__ inp, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = 2.0f * inp[i]; }
}
// ---
__global__ void mark(float* __restrict__ out, int restricted) {
    if (threadIdx.x < restricted) { out[threadIdx.x] = 1.0f; }
}
