__global__ void scale_rows(float* out, const float* inp, int C) {
    int row = blockIdx.x;
    const float* x = inp + row * C;
    for (int i = threadIdx.x; i < C; i += blockDim.x) { out[row * C + i] = 2.0f * x[i]; }
}
// ---
__global__ void k(float* y, const float* x, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = x[blockIdx.x * n + i]; }
// ---
__global__ void k(float* y, const float* x, int n) { const float* r = x + blockIdx.x * n; float s = 0; for (int i = threadIdx.x; i < n; i += blockDim.x) s += r[i]; y[0] = s; }
// ---
__global__ void k(float* y, const float* x, int n) { x += blockIdx.x * n; float s = 0; for (int i = threadIdx.x; i < n; i += blockDim.x) s += x[i]; y[0] = s; }
// ---
template <int T> __global__ void k(float* y, const float* x, int n) { const float* r = x + (size_t)blockIdx.x * n; float s = 0; for (int i = threadIdx.x; i < n; i += T) s += r[i]; y[0] = s; }
// ---
__global__ void k(float* y, const float* x, int n) { int row = blockIdx.x, t = threadIdx.x; float s = 0; for (int i = t; i < n; i += blockDim.x) s += x[row * n + i]; y[row] = s; }
// ---
__global__ void k(float* y, const float* x, int n) { const float* r = &x[blockIdx.x * n]; float s = 0; for (int i = threadIdx.x; i < n; i += 256) s += r[i]; y[0] = s; }
