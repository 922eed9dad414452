#include <cuda_bf16.h>
#include <stdint.h>

// Scores where the mask is zero become a large negative number; a block a row of scores.
__global__ void mask_scores(__nv_bfloat16* out, const __nv_bfloat16* scores, const uint8_t* keep, float scale, int keys) {
    const size_t row = blockIdx.x;
    for (int k = threadIdx.x; k < keys; k += blockDim.x) {
        const float s = __bfloat162float(scores[row * keys + k]) * scale;
        out[row * keys + k] = __float2bfloat16(keep[row * keys + k] ? s : -10000.0f);
    }
}

void launch(__nv_bfloat16* out, const __nv_bfloat16* scores, const uint8_t* keep, float scale, int rows, int keys) {
    mask_scores<<<rows, 128>>>(out, scores, keep, scale, keys);
}
