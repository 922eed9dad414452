#include <stdint.h>
__global__ void dequant_per_channel(const int8_t* q, const float* scale, float* out, int channels, int size) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < channels * size) {
        int c = idx / size;
        out[idx] = q[idx] * scale[c];
    }
}
void run(const int8_t* q, const float* scale, float* out, int channels, int size) {
    dequant_per_channel<<<(channels * size + 255) / 256, 256>>>(q, scale, out, channels, size);
}
