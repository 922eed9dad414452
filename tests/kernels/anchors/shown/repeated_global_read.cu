__global__ void centre(float* out, const float* inp, int C) {
    const float* x = inp + blockIdx.x * C;
    float s = 0.0f;
    for (int i = threadIdx.x; i < C; i += blockDim.x) { s += x[i]; }
    for (int i = threadIdx.x; i < C; i += blockDim.x) { out[blockIdx.x * C + i] = x[i] - s; }
}
// ---
__global__ void cube(float* out, const float* inp, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = inp[i] * inp[i] * inp[i]; }
}
