#include <cuda_bf16.h>

typedef __nv_bfloat16 bf16;

// [B, T, 3, H, D] -> q, k, v each [B, H, T, D]; one thread an element of q
__global__ void split_heads(bf16* q, bf16* k, bf16* v, const bf16* qkv, int B, int T, int NH, int D)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < B * NH * T * D) {
        int b = idx / (NH * T * D);
        int rest = idx % (NH * T * D);
        int nh = rest / (T * D);
        rest = rest % (T * D);
        int t = rest / D;
        int d = rest % D;
        int from = b * T * 3 * NH * D + t * 3 * NH * D + 0 * NH * D + nh * D + d;
        q[idx] = qkv[from];
        k[idx] = qkv[from + NH * D];
        v[idx] = qkv[from + 2 * NH * D];
    }
}

void launch_split_heads(bf16* q, bf16* k, bf16* v, const bf16* qkv, int B, int T, int NH, int D)
{
    int total = B * NH * T * D;
    split_heads<<<(total + 255) / 256, 256>>>(q, k, v, qkv, B, T, NH, D);
}
