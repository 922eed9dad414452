#include <cuda_bf16.h>
#include <math.h>

// preatt[b, h, t, u] = q . k / sqrt(d) for u <= t, -inf above the diagonal
__global__ void causal_scores(float* att, const __nv_bfloat16* q, const __nv_bfloat16* k, int T, int D)
{
    int u = blockIdx.x * blockDim.x + threadIdx.x;
    int t = blockIdx.y * blockDim.y + threadIdx.y;
    int bh = blockIdx.z;
    if (u >= T || t >= T) return;
    long at = ((long)bh * T + t) * T + u;
    if (u > t) {
        att[at] = -INFINITY;
        return;
    }
    float sum = 0.0f;
    for (int i = 0; i < D; i++) {
        sum += __bfloat162float(q[((long)bh * T + t) * D + i]) * __bfloat162float(k[((long)bh * T + u) * D + i]);
    }
    att[at] = sum * rsqrtf((float)D);
}

void scores(float* att, const __nv_bfloat16* q, const __nv_bfloat16* k, int BH, int T, int D)
{
    dim3 block(16, 16);
    dim3 grid((T + 15) / 16, (T + 15) / 16, BH);
    causal_scores<<<grid, block>>>(att, q, k, T, D);
}
