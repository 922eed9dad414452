__global__ void k(float* y, const float* x, int n) { y[threadIdx.x] = x[threadIdx.x]; }
// ---
__global__ void k(float* y, const float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i]; }
// ---
__global__ void k(float* y, const float* x, int n) { int c = threadIdx.x, r = blockIdx.y; y[r * n + c] = x[r * n + c]; }
// ---
__global__ void k(float* y, const float* x, int n) { float* o = y + blockIdx.x * n; o[threadIdx.x] = x[threadIdx.x]; }
// ---
__global__ void k(float* y, const float* x, int n) { y[n - 1] = 0; y[blockIdx.x * 32 + threadIdx.x % 32] = x[threadIdx.x]; }
