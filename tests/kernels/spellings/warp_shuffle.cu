__device__ float warp_sum(float v) {
    for (int offset = 16; offset > 0; offset /= 2) { v += __shfl_down_sync(0xffffffffu, v, offset); }
    return v;
}
__global__ void total(float* out, const float* inp) {
    float v = warp_sum(inp[blockIdx.x * 32 + threadIdx.x]);
    if (threadIdx.x == 0) { out[blockIdx.x] = v; }
}
// ---
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void total(float* out, const float* inp) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    float v = cg::reduce(warp, inp[threadIdx.x], cg::plus<float>{});
    if (warp.thread_rank() == 0) { out[0] = v; }
}
// ---
__global__ void k(float* y) { float v = y[threadIdx.x]; v += __shfl_xor_sync(0xffffffff, v, 1); y[threadIdx.x] = v; }
// ---
__global__ void k(float* y) { float v = __shfl_sync(~0u, y[threadIdx.x], 0); y[threadIdx.x] = v; }
// ---
__global__ void k(float* y) { float v = __shfl_up_sync(~0u, y[threadIdx.x], 1); y[threadIdx.x] = v; }
// ---
__global__ void k(unsigned* y) { y[threadIdx.x] = __reduce_add_sync(~0u, y[threadIdx.x]); }
// ---
__global__ void k(float* y) { auto w = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block()); y[threadIdx.x] = w.shfl_down(y[threadIdx.x], 1); }
// ---
namespace cg = cooperative_groups;
__global__ void k(float* y) { auto w = cg::tiled_partition<16>(cg::this_thread_block()); y[threadIdx.x] = cg::inclusive_scan(w, y[threadIdx.x]); }
// ---
__global__ void k(float* y) { using W = cub::WarpReduce<float>; __shared__ typename W::TempStorage s; y[threadIdx.x] = W(s).Sum(y[threadIdx.x]); }
// ---
__global__ void k(int* y) { int v = y[threadIdx.x], r; asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, 0xffffffff;" : "=r"(r) : "r"(v)); y[threadIdx.x] = r; }
// ---
template <typename Op> __device__ float fold(float v, Op op) { for (int o = 16; o; o >>= 1) { v = op(v, __shfl_xor_sync(~0u, v, o)); } return v; }
__global__ void k(float* y) { y[threadIdx.x] = fold(y[threadIdx.x], [](float a, float b) { return a + b; }); }
