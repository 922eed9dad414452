// --- applies
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
__global__ void k(float* out, const float* x, int n) {
    namespace cg = cooperative_groups;
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    float sum = 0.0f;
    for (int i = warp.thread_rank(); i < n; i += warp.size()) {
        sum += x[i];
    }
    sum = cg::reduce(warp, sum, cg::plus<float>{});
    block.sync();
    out[blockIdx.x] = sum;
}
// --- becomes
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
template <typename T>
__device__ T reduced_by_plus(T v) {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        T other = __shfl_xor_sync(0xffffffffu, v, lanes);
        v = v + other;
    }
    return v;
}

__global__ void k(float* out, const float* x, int n) {
    float sum = 0.0f;
    for (int i = (((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x) % 32); i < n; i += 32) {
        sum += x[i];
    }
    sum = reduced_by_plus(sum);
    __syncthreads();
    out[blockIdx.x] = sum;
}
// --- stays
#include <cooperative_groups.h>
__device__ float of(cooperative_groups::thread_block block, float v) { return v; }
__global__ void k(float* out, const float* x) {
    auto block = cooperative_groups::this_thread_block();
    out[0] = of(block, x[0]);
}
