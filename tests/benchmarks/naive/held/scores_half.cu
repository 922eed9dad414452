#include <cuda_fp16.h>

__global__ void qk(const __half* Q, const __half* Kt, __half* S, int seq, int dim, float softmax_scale) {
    const int key = blockIdx.x * blockDim.x + threadIdx.x;
    const int query = blockIdx.y * blockDim.y + threadIdx.y;
    const int bh = blockIdx.z;
    if (query >= seq || key >= seq) return;
    const __half* q = Q + ((long)bh * seq + query) * dim;
    const __half* k = Kt + ((long)bh * seq + key) * dim;
    float dot = 0.f;
    for (int d = 0; d < dim; d++) {
        const float qv = __half2float(q[d]);
        const float kv = __half2float(k[d]);
        dot += qv * kv;
    }
    S[((long)bh * seq + query) * seq + key] = __float2half(dot * softmax_scale);
}

void run(const __half* Q, const __half* Kt, __half* S, int heads, int seq, int dim, float softmax_scale) {
    dim3 block(32, 8);
    dim3 grid((seq + 31) / 32, (seq + 7) / 8, heads);
    qk<<<grid, block>>>(Q, Kt, S, seq, dim, softmax_scale);
}
