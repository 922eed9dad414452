#include <cuda_fp16.h>

// out = x[:, first : first + width], scaled; one thread for each element of the slice
__global__ void slice_columns(half* out, const half* x, float scale, int rows, int cols, int first, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * width) {
        int r = i / width;
        int c = i - r * width;
        out[i] = __float2half(__half2float(x[r * cols + first + c]) * scale);
    }
}

void launch(half* out, const half* x, float scale, int rows, int cols, int first, int width) {
    int n = rows * width;
    slice_columns<<<(n + 127) / 128, 128>>>(out, x, scale, rows, cols, first, width);
}
