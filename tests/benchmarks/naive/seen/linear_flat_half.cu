#include <cuda_fp16.h>

// y = relu(x w^T + b) in half
__global__ void linear_relu(const half* x, const half* w, const half* b, half* y, int batch, int in_features, int out_features) {
    const int tid = threadIdx.x;
    const int idx = blockIdx.x * blockDim.x + tid;
    if (idx >= batch * out_features) return;
    const int o = idx % out_features;
    const int n = idx / out_features;
    float acc = __half2float(b[o]);
    for (int i = 0; i < in_features; ++i)
        acc += __half2float(x[n * in_features + i]) * __half2float(w[o * in_features + i]);
    y[idx] = __float2half(fmaxf(acc, 0.0f));
}

void launch(const half* x, const half* w, const half* b, half* y, int batch, int in_features, int out_features) {
    linear_relu<<<(batch * out_features + 255) / 256, 256>>>(x, w, b, y, batch, in_features, out_features);
}
