__global__ void total(float* out, const float* inp, int C) {
    float s = 0.0f;
    for (int i = threadIdx.x; i < C; i += blockDim.x) { s += inp[blockIdx.x * C + i]; }
    out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
// ---
__global__ void scale(float* out, const float* inp) {
    int base = blockIdx.x * 1024 + threadIdx.x;
    for (int k = 0; k < 4; k++) { out[base + k * 256] = 2.0f * inp[base + k * 256]; }
}
// ---
__global__ void k(float* y, const float* x, int n) { for (int q = 0; q < 4; q++) { int i = (blockIdx.x * 4 + q) * 64 + threadIdx.x; y[i] = x[i]; } }
// ---
template <int V> __global__ void k(float* y, const float* x, int n) { for (int q = 0; q < V; q++) { int i = (blockIdx.x * V + q) * 64 + threadIdx.x; y[i] = x[i]; } }
// ---
#define ITEMS 8
__global__ void k(float* y, const float* x, int n) { for (int q = 0; q < ITEMS; ++q) { y[blockIdx.x * 512 + q * 64 + threadIdx.x] = 0; } }
// ---
__global__ void k(float* y, const float* x, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = x[blockIdx.x * n + i]; }
// ---
__global__ void k(float* y, const float* x, int n) { for (int i = threadIdx.x % 32; i < n; i += 32) y[i] = x[i]; }
// ---
struct T { static constexpr int items = 4; };
__global__ void k(float* y, const float* x, int n) { for (int q = 0; q < T::items; q++) { y[(blockIdx.x * 4 + q) * 64 + threadIdx.x] = 0; } }
// ---
__device__ void each(float* y) { for (int q = 0; q < 4; q++) { y[q * 64 + threadIdx.x] = 0; } }
__global__ void k(float* y, const float* x, int n) { each(y); }
