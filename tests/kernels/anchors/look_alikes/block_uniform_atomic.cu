__global__ void total(float* out, const float* inp) {
    __shared__ float part[256];
    part[threadIdx.x] = inp[blockIdx.x * 256 + threadIdx.x];
    for (int s = 128; s > 0; s /= 2) {
        __syncthreads();
        if (threadIdx.x < s) { part[threadIdx.x] += part[threadIdx.x + s]; }
    }
    if (threadIdx.x == 0) { atomicAdd(out, part[0]); }
}
// ---
__global__ void total(float* out, const float* inp) {
    __shared__ float part[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    part[warp] = inp[threadIdx.x];
    __syncthreads();
    if (warp == 0) {
        float v = part[lane];
        if (lane == 0) { atomicAdd(out, v); }
    }
}
// ---
__global__ void columns(float* out, const float* inp) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&out[c], inp[c]);
}
// ---
__global__ void place(int* taken, int* out, const int* inp) {
    int at = atomicAdd(taken, 1);
    out[at] = inp[threadIdx.x];
}
