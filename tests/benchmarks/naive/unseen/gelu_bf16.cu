#include <cuda_bf16.h>

__global__ void gelu_kernel(__nv_bfloat16* out, const __nv_bfloat16* in, const int count) {
    const int idx = threadIdx.x + blockIdx.x * blockDim.x;
    if (idx >= count) return;
    float x = __bfloat162float(in[idx]);
    float inner = 0.7978845608f * (x + 0.044715f * x * x * x);
    out[idx] = __float2bfloat16(0.5f * x * (1.0f + tanhf(inner)));
}

void gelu(__nv_bfloat16* out, const __nv_bfloat16* in, int count) {
    gelu_kernel<<<(count + 511) / 512, 512>>>(out, in, count);
}
