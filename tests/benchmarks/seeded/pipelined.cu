// y = 2 x + 1 through two buffers of shared memory that cp.async fills ahead, and a product by tensor cores.
#include <mma.h>
using namespace nvcuda;

__device__ void fetch(float* to, const float* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from));
}

__global__ void pipelined(float* y, const float* x, int tiles) {
    __shared__ float held[2][64];
    int t = threadIdx.x;
    const float* row = x + blockIdx.x * tiles * 64;
    fetch(&held[0][t], row + t);
    asm volatile("cp.async.commit_group;");
    for (int k = 0; k < tiles; k++) {
        if (k + 1 < tiles) {
            fetch(&held[(k + 1) % 2][t], row + (k + 1) * 64 + t);
        }
        asm volatile("cp.async.commit_group;");
        asm volatile("cp.async.wait_group 1;");
        __syncthreads();
        y[(blockIdx.x * tiles + k) * 64 + t] = 2.0f * held[k % 2][63 - t] + 1.0f;
        __syncthreads();
    }
}

__global__ void wmma_matmul(float* c, const __half* a, const __half* b, int N, int K) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    int row = blockIdx.y * 16, col = blockIdx.x * 16;
    for (int k = 0; k < K; k += 16) {
        wmma::load_matrix_sync(left, a + row * K + k, K);
        wmma::load_matrix_sync(right, b + k * N + col, N);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c + row * N + col, sum, N, wmma::mem_row_major);
}
