__global__ void fill(float* out, int n) {
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) { out[i] = 1.0f; }
}
// ---
__global__ void k(float* y, int n) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = 0; }
// ---
__global__ void k(float* y, int n) { for (int i = threadIdx.x + blockDim.x * blockIdx.x; i < n; i = i + gridDim.x * blockDim.x) y[i] = 0; }
// ---
__global__ void k(float* y, int n) { const int step = blockDim.x * gridDim.x; for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) y[i] = 0; }
// ---
__global__ void k(float* y, int n) { int t = blockIdx.x * blockDim.x + threadIdx.x; int all = gridDim.x * blockDim.x; for (int i = t; i < n; i += all) y[i] = 0; }
// ---
namespace cg = cooperative_groups;
__global__ void k(float* y, int n) { auto g = cg::this_grid(); for (int i = g.thread_rank(); i < n; i += g.size()) y[i] = 0; }
// ---
__device__ void each(float* y, int n) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = 0; }
__global__ void k(float* y, int n) { each(y, n); }
// ---
__global__ void k(float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; while (i < n) { y[i] = 0; i += gridDim.x * blockDim.x; } }
