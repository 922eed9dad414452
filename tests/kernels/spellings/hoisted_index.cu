__global__ void total(float* out, const float* inp, int C) {
    const float* x = inp + blockIdx.x * C;
    float s = 0.0f;
    for (int i = 0; i < C; i++) { s += x[i]; }
    out[blockIdx.x] = s;
}
// ---
__global__ void total(float* out, const float* inp, int C) {
    int row = blockIdx.x * C;
    float s = 0.0f;
    for (int i = 0; i < C; i++) { s += inp[row + i]; }
    out[blockIdx.x] = s;
}
// ---
__global__ void k(float* y, const float* x, int n) { const float* r = x + blockIdx.x * n; for (int i = 0; i < n; i++) y[i] += r[i]; }
// ---
__global__ void k(float* y, const float* x, int n) { int base = blockIdx.x * n; for (int i = 0; i < n; i++) y[i] += x[base + i]; }
// ---
__global__ void k(float* y, const float* x, int n) { const size_t base = (size_t)blockIdx.x * n; float s = 0; for (int i = 0; i < n; i++) s += x[base + i]; y[0] = s; }
// ---
__global__ void k(float* y, const float* x, int n) { x += threadIdx.x * n; float s = 0; for (int i = 0; i < n; i++) s += x[i]; y[0] = s; }
// ---
__global__ void k(float* y, const float* x, int n) { const float* r = &x[blockIdx.x * n]; float s = 0; for (int i = 0; i < n; i++) s += r[i]; y[0] = s; }
