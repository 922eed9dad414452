#include <cuda_fp16.h>
#include <cstdint>

// symmetric int8 quantisation, one scale a row; a row is blockIdx.y * blockDim.y + threadIdx.y
__global__ void quant_rows(const half* in, int8_t* out, float* scales, int rows, int cols)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    in += (size_t)row * cols;
    out += (size_t)row * cols;
    float amax = 0.f;
    for (int c = 0; c < cols; c++) {
        float a = fabsf(__half2float(in[c]));
        if (a > amax) amax = a;
    }
    float scale = amax / 127.f;
    scales[row] = scale;
    for (int c = 0; c < cols; c++) {
        float q = scale > 0.f ? rintf(__half2float(in[c]) / scale) : 0.f;
        out[c] = (int8_t)q;
    }
}

void quantise(const half* in, int8_t* out, float* scales, int rows, int cols)
{
    quant_rows<<<dim3(1, (rows + 127) / 128), dim3(1, 128)>>>(in, out, scales, rows, cols);
}
