namespace cg = cooperative_groups;
__global__ void fill(float* out, int n) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    for (int i = warp.thread_rank(); i < n; i += warp.size()) { out[i] = 1.0f; }
}
// ---
using namespace cooperative_groups;
__global__ void both(float* a, float* b) {
    auto grid = this_grid();
    a[grid.thread_rank()] = 1.0f;
    grid.sync();
    b[grid.thread_rank()] = a[0];
}
// ---
__global__ void k(float* y) { auto b = cooperative_groups::this_thread_block(); b.sync(); y[0] = 0; }
// ---
namespace cg = cooperative_groups;
__global__ void k(float* y) { cg::grid_group g = cg::this_grid(); g.sync(); y[0] = 0; }
// ---
namespace cg = cooperative_groups;
__global__ void k(float* y) { auto t = cg::tiled_partition<8>(cg::this_thread_block()); y[t.thread_rank()] = 0; }
// ---
namespace cg = cooperative_groups;
__global__ void k(float* y) { cg::coalesced_group g = cg::coalesced_threads(); if (g.thread_rank() == 0) { y[0] = g.size(); } }
// ---
namespace cg = cooperative_groups;
__global__ void k(float* y) { cg::cluster_group c = cg::this_cluster(); c.sync(); y[0] = 0; }
// ---
using namespace cooperative_groups;
__global__ void k(float* y) { thread_block b = this_thread_block(); b.sync(); y[0] = 0; }
// ---
namespace cg = cooperative_groups;
__device__ void all() { cg::sync(cg::this_thread_block()); }
__global__ void k(float* y) { all(); y[0] = 0; }
// ---
namespace cg = cooperative_groups;
__global__ void k(int* y) { auto w = cg::tiled_partition<32>(cg::this_thread_block()); auto l = cg::labeled_partition(w, y[0]); y[1] = l.size(); }
