#include <stdint.h>

// Values that the mask switches off become the zero point, the others are shifted and saturated.
__global__ void clamp_masked(int8_t *dst, const int8_t *src, const uint8_t *mask, int zero, int shift, int n) {
    int idx = blockDim.x * blockIdx.x + threadIdx.x;
    if (idx >= n) return;
    int v = src[idx] + shift;
    if (v > 127) v = 127;
    if (v < -128) v = -128;
    if (!mask[idx]) v = zero;
    dst[idx] = (int8_t)v;
}

void launch(int8_t *dst, const int8_t *src, const uint8_t *mask, int zero, int shift, int n) {
    clamp_masked<<<(n + 255) / 256, 256>>>(dst, src, mask, zero, shift, n);
}
