#include <cuda_fp16.h>
// y = x @ W^T, W is (out, in) int8 with a scale for each output
__global__ void linear_w8a16(const __half* x, const signed char* W, const __half* scale, const __half* bias, __half* y, int tokens, int in, int out) {
    int o = blockIdx.x * blockDim.x + threadIdx.x;
    int t = blockIdx.y;
    if (o < out) {
        float sum = 0.0f;
        for (int i = 0; i < in; i++)
            sum += __half2float(x[t * in + i]) * (float)W[o * in + i];
        y[t * out + o] = __float2half(sum * __half2float(scale[o]) + __half2float(bias[o]));
    }
}
void launch(const __half* x, const signed char* W, const __half* scale, const __half* bias, __half* y, int tokens, int in, int out) {
    dim3 grid((out + 127) / 128, tokens);
    linear_w8a16<<<grid, 128>>>(x, W, scale, bias, y, tokens, in, out);
}
