__global__ void scale_rows(float* out, const float* inp, int N, int C) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int row = blockIdx.x * (blockDim.x / 32) + warp;
    if (row >= N) { return; }
    for (int i = lane; i < C; i += 32) { out[row * C + i] = 2.0f * inp[row * C + i]; }
}
// ---
namespace cg = cooperative_groups;
__global__ void scale_rows(float* out, const float* inp, int N, int C) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    const float* x = inp + row * C;
    for (int i = warp.thread_rank(); i < C; i += warp.size()) { out[row * C + i] = 2.0f * x[i]; }
}
// ---
__global__ void k(float* y, const float* x, int n) { int w = threadIdx.x / 32, l = threadIdx.x & 31; int row = blockIdx.x * 4 + w; float s = 0; for (int i = l; i < n; i += 32) s += x[row * n + i]; y[row] = s; }
// ---
__global__ void k(float* y, const float* x, int n) { int w = threadIdx.x >> 5, l = threadIdx.x & 31; const float* r = x + (blockIdx.x * 4 + w) * n; float s = 0; for (int i = l; i < n; i += 32) s += r[i]; y[0] = s; }
// ---
__global__ void k(float* y, const float* x, int n) { int row = blockIdx.x * blockDim.y + threadIdx.y; float s = 0; for (int i = threadIdx.x; i < n; i += 32) s += x[row * n + i]; y[row] = s; }
// ---
#define WARP_SIZE 32
__global__ void k(float* y, const float* x, int n) { int w = threadIdx.x / WARP_SIZE, l = threadIdx.x % WARP_SIZE; int row = blockIdx.x * (blockDim.x / WARP_SIZE) + w; float s = 0; for (int i = l; i < n; i += WARP_SIZE) s += x[row * n + i]; y[row] = s; }
// ---
__global__ void k(float* y, const float* x, int n) { int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, l = threadIdx.x % 32; float s = 0; for (int i = l; i < n; i += 32) s += x[w * n + i]; y[w] = s; }
// ---
__global__ void k(float* y, const float* x, int n) { int row = blockIdx.x * 8 + threadIdx.x / 32; for (int i = threadIdx.x % 32; i < n; i += 32) y[row * n + i] = 2 * x[row * n + i]; }
// ---
__global__ void k(float* y, const float* x, int n) { int row = blockIdx.x * 8 + threadIdx.x / warpSize; for (int i = threadIdx.x % warpSize; i < n; i += warpSize) y[row * n + i] = 2 * x[row * n + i]; }
// ---
__global__ void k(float* y, const float* x, int n, int rows) { int row = blockIdx.x * blockDim.y + threadIdx.y; if (row >= rows) return; x += row * n; float s = 0; for (int i = threadIdx.x; i < n; i += 32) s += x[i]; y[row] = s; }
