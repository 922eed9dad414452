#include <cstdint>
// weights are int8 with one scale for each group of `group` inputs
__global__ void w8_group_matmul(const float* __restrict__ x, const int8_t* __restrict__ w, const float* __restrict__ scales,
                                float* __restrict__ y, int m, int n, int k, int group) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || col >= n) return;
    float acc = 0.f;
    for (int i = 0; i < k; ++i) {
        const float wv = static_cast<float>(w[i * n + col]) * scales[(i / group) * n + col];
        acc += x[row * k + i] * wv;
    }
    y[row * n + col] = acc;
}
void run(const float* x, const int8_t* w, const float* scales, float* y, int m, int n, int k, int group) {
    dim3 block(16, 16);
    dim3 grid((n + 15) / 16, (m + 15) / 16);
    w8_group_matmul<<<grid, block>>>(x, w, scales, y, m, n, k, group);
}
