#include <cooperative_groups.h>
__global__ void fill(float* out, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) { out[i] = 1.0f; }  // cg::this_thread_block()
    __syncthreads();
}
// ---
struct Grid { __device__ int size() { return gridDim.x; } };
__global__ void fill(float* out) { Grid grid; out[threadIdx.x] = grid.size(); }
