__global__ void histogram(int* bins, const int* inp, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { atomicAdd(&bins[inp[i]], 1); }
}
// ---
__global__ void stamp(int* out) {
    if (threadIdx.x == 0) { out[blockIdx.x] = 7; }
}
