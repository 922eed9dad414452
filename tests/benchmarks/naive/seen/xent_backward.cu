#include <cuda_bf16.h>
__device__ __forceinline__ float to_f(__nv_bfloat16 v) { return __bfloat162float(v); }
__global__ void softmax_xent_grad(const __nv_bfloat16* logits, const int* targets, __nv_bfloat16* grad, float* losses, int N, int V, float scale) {
    const auto n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) return;
    const __nv_bfloat16* row = logits + (size_t)n * V;
    __nv_bfloat16* g = grad + (size_t)n * V;
    float mx = -INFINITY;
    for (int v = 0; v < V; v++) { float z = to_f(row[v]); if (z > mx) mx = z; }
    float denom = 0.f;
    for (int v = 0; v < V; v++) denom += __expf(to_f(row[v]) - mx);
    const int t = targets[n];
    losses[n] = logf(denom) + mx - to_f(row[t]);
    for (int v = 0; v < V; v++) {
        float p = __expf(to_f(row[v]) - mx) / denom;
        g[v] = __float2bfloat16((p - (v == t ? 1.f : 0.f)) * scale);
    }
}
void run(const __nv_bfloat16* logits, const int* targets, __nv_bfloat16* grad, float* losses, int N, int V, float scale) {
    softmax_xent_grad<<<(N + 127) / 128, 128>>>(logits, targets, grad, losses, N, V, scale);
}
