__global__ void fill(float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) { return; }
    out[i] = 1.0f;
}
// ---
__global__ void k(float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { y[i] = 0; } }
// ---
__global__ void k(float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; y[i] = 0; }
// ---
__global__ void k(float* y, const float* x, int n) { int i = blockIdx.x * 64 + threadIdx.x; y[i] = i < n ? x[i] : 0.0f; }
// ---
__global__ void k(float* y, int n) { int i = threadIdx.x; bool inside = i < n; if (inside) { y[i] = 0; } }
// ---
__global__ void k(float* y, int h, int w) { int r = blockIdx.y, c = threadIdx.x; if (r < h && c < w) { y[r * w + c] = 0; } }
// ---
struct Args { float* y; int n; };
__global__ void k(Args a) { int i = blockIdx.x * 64 + threadIdx.x; if (i < a.n) { a.y[i] = 0; } }
// ---
__global__ void k(float* y, int n) { int i = threadIdx.x; if (n > i) { y[i] = 0; } }
// ---
__global__ void k(float* y, int b, int t) { int i = threadIdx.x, total = b * t; if (i >= total) { return; } y[i] = 0; }
