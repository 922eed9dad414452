#include <cuda_fp16.h>
__global__ void column_variance(const half* x, float* var, size_t rows, size_t cols) {
    const size_t c = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (c >= cols) return;
    float s = 0.f, q = 0.f;
    for (size_t r = 0; r < rows; ++r) {
        const float v = __half2float(x[r * cols + c]);
        s += v;
        q += v * v;
    }
    const float m = s / rows;
    var[c] = q / rows - m * m;
}
void run(const half* x, float* var, size_t rows, size_t cols) {
    column_variance<<<(cols + 255) / 256, 256>>>(x, var, rows, cols);
}
