__global__ void k(float* y, const float* x, int n) { const float* r = x + blockIdx.x * n; for (int i = 0; i < n; i++) y[i] += r[i]; }
// ---
__global__ void k(float* y, const float* x, int n) { int base = blockIdx.x * n; for (int i = 0; i < n; i++) y[i] += x[base + i]; }
// ---
__global__ void k(float* y, const float* x, int n) { const size_t base = (size_t)blockIdx.x * n; float s = 0; for (int i = 0; i < n; i++) s += x[base + i]; y[0] = s; }
// ---
__global__ void k(float* y, const float* x, int n) { x += threadIdx.x * n; float s = 0; for (int i = 0; i < n; i++) s += x[i]; y[0] = s; }
// ---
__global__ void k(float* y, const float* x, int n) { const float* r = &x[blockIdx.x * n]; float s = 0; for (int i = 0; i < n; i++) s += r[i]; y[0] = s; }
