// because: no anchor
// The tile is filled once, before the loop: there is no next one to load meanwhile.
__global__ void correlate(float* out, const float* x, int n) {
    __shared__ float part[128];
    part[threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x];
    __syncthreads();
    for (int t = 0; t < n; t++) { out[t * 128 + threadIdx.x] = part[(threadIdx.x + t) % 128]; }
}
