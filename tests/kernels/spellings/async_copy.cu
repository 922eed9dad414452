__global__ void stage(float* out, const float* inp) {
    __shared__ float tile[256];
    __pipeline_memcpy_async(&tile[threadIdx.x], &inp[blockIdx.x * 256 + threadIdx.x], sizeof(float));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[threadIdx.x] = tile[255 - threadIdx.x];
}
// ---
__device__ void fetch(unsigned at, const float* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n" :: "r"(at), "l"(from));
}
__global__ void stage(float* out, const float* inp, unsigned at) { fetch(at, inp); out[0] = 1.0f; }
// ---
__global__ void k(float* y, const float* x) { __shared__ float t[64]; cuda::memcpy_async(t + threadIdx.x, x + threadIdx.x, sizeof(float), cuda::thread_scope_thread); y[0] = t[0]; }
// ---
namespace cg = cooperative_groups;
__global__ void k(float* y, const float* x) { __shared__ float t[64]; auto b = cg::this_thread_block(); cg::memcpy_async(b, t, x, sizeof(float) * 64); cg::wait(b); y[0] = t[0]; }
// ---
__global__ void k(float* y, const float* x) { __shared__ float t[64]; auto p = cuda::make_pipeline(); p.producer_acquire(); y[0] = t[0]; }
// ---
__device__ void fetch(unsigned to, const void* from) { asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(from)); }
__global__ void k(float* y, const float* x, unsigned s) { fetch(s, x); y[0] = 0; }
// ---
__global__ void k(float* y, const void* map, unsigned s, unsigned b) { asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" :: "r"(s), "l"(map), "r"(0), "r"(0), "r"(b)); }
// ---
__global__ void k(half* y) { using Copy = cute::Copy_Atom<cute::SM80_CP_ASYNC_CACHEGLOBAL<cute::uint128_t>, half>; y[0] = 0; }
// ---
__global__ void k(half* y, const void* map) { cute::SM90_TMA_LOAD_2D::copy(map, nullptr, 0, y, 0, 0); }
