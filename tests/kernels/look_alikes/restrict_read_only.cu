__global__ void add(float* out, const float* inp, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;  // no __restrict__: out may be inp
    if (i < n) { out[i] += inp[i]; }
}
// ---
void host(float* __restrict__ a) { a[0] = 1.0f; }
__global__ void copy(float* out, const float* restricted) { out[threadIdx.x] = restricted[threadIdx.x]; }
