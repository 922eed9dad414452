// because: not kernel.has("warp_shuffle")
__global__ void warp_sums(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? x[i] : 0.0f;
    for (int offset = 16; offset > 0; offset >>= 1) { v += __shfl_down_sync(0xffffffffu, v, offset); }
    if (threadIdx.x % 32 == 0) { out[i / 32] = v; }
}
void run(float* out, const float* x, int n) { warp_sums<<<(n + 255) / 256, 256>>>(out, x, n); }
