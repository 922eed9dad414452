__global__ void scale_rows(float* out, const float* inp, int C) {
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        out[blockIdx.x * C + i] = 2.0f * inp[blockIdx.x * C + i];
    }
}
// ---
__global__ void mark(float* out) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (lane == 0) { out[blockIdx.x * (blockDim.x / 32) + warp] = 1.0f; }
}
