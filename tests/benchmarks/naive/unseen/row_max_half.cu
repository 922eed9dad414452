#include <cuda_fp16.h>

__global__ void row_absmax(float* result, const __half* mat, int num_rows, int num_cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= num_rows) return;
    float best = 0.0f;
    for (int j = 0; j < num_cols; ++j) {
        float v = fabsf(__half2float(mat[(size_t)r * num_cols + j]));
        best = fmaxf(best, v);
    }
    result[r] = best;
}

void run(float* result, const __half* mat, int num_rows, int num_cols) {
    row_absmax<<<(num_rows + 255) / 256, 256>>>(result, mat, num_rows, num_cols);
}
