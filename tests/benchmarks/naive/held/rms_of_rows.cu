#include <cuda_bf16.h>

__global__ void row_rms(float* rms, const __nv_bfloat16* x, int rows, int cols) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const __nv_bfloat16* mine = x + (size_t)row * cols;
    float ss = 0.0f;
    for (int c = 0; c < cols; ++c) {
        const float v = __bfloat162float(mine[c]);
        ss += v * v;
    }
    rms[row] = sqrtf(ss / cols + 1e-6f);
}

void run(float* rms, const __nv_bfloat16* x, int rows, int cols) {
    row_rms<<<(rows + 127) / 128, 128>>>(rms, x, rows, cols);
}
