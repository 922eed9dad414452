__global__ void scale(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { x[i] = 2.0f * x[i]; }
}
// ---
__global__ void row(float* out, const float* weight, int C) {
    float s = 0.0f;
    for (int i = threadIdx.x; i < C; i += blockDim.x) { s += weight[i]; }
    atomicAdd(out, s);
}
// ---
__global__ void blur(const float* inp, int n) {
    __shared__ float kept[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    kept[threadIdx.x] = inp[i] + inp[i + 1];
}
