#include <cuda_bf16.h>

__global__ void bias_backward(float* dbias, const __nv_bfloat16* dout, int B, int OC) {
    int o = blockIdx.x * blockDim.x + threadIdx.x;
    if (o >= OC) return;
    float acc = 0.0f;
    for (int b = 0; b < B; ++b) {
        acc += __bfloat162float(dout[b * OC + o]);
    }
    dbias[o] += acc;
}

void run(float* dbias, const __nv_bfloat16* dout, int B, int OC) {
    bias_backward<<<(OC + 127) / 128, 128>>>(dbias, dout, B, OC);
}
