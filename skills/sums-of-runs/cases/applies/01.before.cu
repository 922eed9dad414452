__global__ void sum_segments(float* out, const int* segment, const float* x, int rows, int C) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    int c = threadIdx.x;
    if (row < rows) {
        atomicAdd(&out[segment[row] * C + c], x[row * C + c]);
    }
}

void launch(float* out, const int* segment, const float* x, int rows, int C) {
    dim3 block(C, 4);
    sum_segments<<<dim3((rows + 3) / 4), block>>>(out, segment, x, rows, C);
}
