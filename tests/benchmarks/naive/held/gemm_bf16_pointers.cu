#include <cuda_bf16.h>

typedef __nv_bfloat16 bf16;

__global__ void matmul_bf16(bf16* out, const bf16* lhs, const bf16* rhs, int m, int n, int k) {
    unsigned col = blockIdx.x * 16u + threadIdx.x;
    unsigned row = blockIdx.y * 16u + threadIdx.y;
    if (row >= (unsigned)m || col >= (unsigned)n) return;
    const bf16* l = lhs + (size_t)row * k;
    const bf16* r = rhs + col;
    float total = 0.0f;
    for (int left = k; left > 0; --left) {
        total += (float)*l * (float)*r;
        l += 1;
        r += n;
    }
    out[(size_t)row * n + col] = __float2bfloat16(total);
}

void run(bf16* out, const bf16* lhs, const bf16* rhs, int m, int n, int k) {
    matmul_bf16<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(out, lhs, rhs, m, n, k);
}
