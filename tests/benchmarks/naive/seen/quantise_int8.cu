#include <stdint.h>

__global__ void quantize(const float* x, int8_t* q, float inv_scale, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = rintf(x[i] * inv_scale);
        v = fminf(fmaxf(v, -128.0f), 127.0f);
        q[i] = (int8_t)v;
    }
}

void run(const float* x, int8_t* q, float inv_scale, int n) {
    quantize<<<(n + 255) / 256, 256>>>(x, q, inv_scale, n);
}
