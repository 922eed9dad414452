__global__ void centre(float* out, const float* inp, int C) {
    float kept[8], s = 0.0f;
    for (int k = 0; k < 8; k++) { kept[k] = inp[blockIdx.x * C + k * 32 + threadIdx.x]; s += kept[k]; }
    for (int k = 0; k < 8; k++) { out[blockIdx.x * C + k * 32 + threadIdx.x] = kept[k] - s / C; }
}
// ---
__global__ void centre(float* out, const float* inp, int C) {
    extern __shared__ float row[];
    float s = 0.0f;
    for (int i = threadIdx.x; i < C; i += 32) { float v = inp[blockIdx.x * C + i]; s += v; row[i] = v; }
    for (int i = threadIdx.x; i < C; i += 32) { out[blockIdx.x * C + i] = row[i] - s; }
}
// ---
__global__ void k(float* y, const float* x, int n) { float r[4]; float s = 0; for (int q = 0; q < 4; q++) { r[q] = x[q * 64 + threadIdx.x]; s += r[q]; } for (int q = 0; q < 4; q++) { y[q * 64 + threadIdx.x] = r[q] / s; } }
// ---
__global__ void k(float* y, const float* x, int n) { float r[4], m = 0; for (int q = 0; q < 4; ++q) { float v = x[q * 64 + threadIdx.x]; r[q] = v; m = fmaxf(m, v); } for (int q = 0; q < 4; ++q) y[q * 64 + threadIdx.x] = r[q] - m; }
// ---
template <int N> __global__ void k(float* y, const float* x, int n) { float r[N], s = 0; for (int q = 0; q < N; q++) { r[q] = x[q * blockDim.x + threadIdx.x]; s += r[q] * r[q]; } s = rsqrtf(s); for (int q = 0; q < N; q++) { y[q * blockDim.x + threadIdx.x] = r[q] * s; } }
