__global__ void __cluster_dims__(2, 1, 1) swap_tiles(float* out, const float* inp) {
    __shared__ float tile[128];
    tile[threadIdx.x] = inp[blockIdx.x * 128 + threadIdx.x];
    auto cluster = cooperative_groups::this_cluster();
    cluster.sync();
    float* other = cluster.map_shared_rank(tile, cluster.block_rank() ^ 1);
    out[blockIdx.x * 128 + threadIdx.x] = other[threadIdx.x];
}
// ---
__device__ void all_blocks() { asm volatile("barrier.cluster.arrive.aligned;" ::: "memory"); }
__global__ void meet(float* out) { all_blocks(); out[threadIdx.x] = 1.0f; }
// ---
__global__ __cluster_dims__(4, 1, 1) void k(float* y) { y[0] = 0; }
// ---
namespace cg = cooperative_groups;
__global__ void k(float* y) { cg::this_cluster().sync(); y[0] = 0; }
// ---
__global__ void k(float* y) { cute::cluster_arrive_relaxed(); cute::cluster_wait(); y[0] = 0; }
// ---
__global__ void k(float* y) { cute::cluster_sync(); y[0] = 0; }
// ---
__global__ void k(unsigned* y, unsigned s) { unsigned r; asm("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(r) : "r"(s)); y[0] = r; }
// ---
__global__ void k(float* y) { asm volatile("barrier.cluster.wait.aligned;"); y[0] = 0; }
// ---
__global__ void k(float* y, const void* m, unsigned s) { asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %2}], [%0], 3;" :: "r"(s), "l"(m), "r"(0)); }
