#include <cuda_bf16.h>
typedef __nv_bfloat16 bf16;

__device__ float sigmoid(float x) { return 1.0f / (1.0f + __expf(-x)); }

__global__ void swiglu(const bf16* gate, const bf16* up, bf16* out, int n) {
    int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        float g = (float)gate[i];
        float u = (float)up[i];
        out[i] = (bf16)(g * sigmoid(g) * u);
    }
}

void launch(const bf16* gate, const bf16* up, bf16* out, int n) {
    swiglu<<<2048, 256>>>(gate, up, out, n);
}
