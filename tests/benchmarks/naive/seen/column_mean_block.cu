// mean of every column; a block for each, with the usual tree
__global__ void column_mean(float* mean, const float* x, int rows, int cols) {
    __shared__ float part[256];
    int c = blockIdx.x;
    float s = 0.0f;
    for (int r = threadIdx.x; r < rows; r += blockDim.x) s += x[r * cols + c];
    part[threadIdx.x] = s;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) mean[c] = part[0] / rows;
}

void launch(float* mean, const float* x, int rows, int cols) {
    column_mean<<<cols, 256>>>(mean, x, rows, cols);
}
