// maximum of every column; thread 0 combines
__global__ void column_max(const float* x, float* out, int rows, int cols) {
    __shared__ float best[128];
    best[threadIdx.x] = -1e30f;
    for (int r = threadIdx.x; r < rows; r += blockDim.x)
        best[threadIdx.x] = fmaxf(best[threadIdx.x], x[r * cols + blockIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) {
        float m = best[0];
        for (int i = 1; i < blockDim.x; i++) m = fmaxf(m, best[i]);
        out[blockIdx.x] = m;
    }
}

void launch(const float* x, float* out, int rows, int cols) {
    column_max<<<cols, 128>>>(x, out, rows, cols);
}
