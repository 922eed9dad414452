__global__ void column_share(float* mean, const float* x, int rows, int cols) {
    const unsigned lane = threadIdx.x % 8, member = threadIdx.x / 8;
    const unsigned here = blockIdx.x * 8 + lane;
    const unsigned column = here < cols ? here : cols - 1;
    __shared__ float part[256];
    int c = column;
    float s = 0.0f;
    if (here < cols) {
    #pragma unroll 8
    for (int r = member; r < rows; r += max(1, (int)(blockDim.x / 8))) s += x[r * cols + c];
    }
    part[member * 8 + lane] = s;
    __syncthreads();
    for (int half = (blockDim.x / 8) / 2; half > 0; half /= 2) {
        if (member < half) part[member * 8 + lane] += part[(member + half) * 8 + lane];
        __syncthreads();
    }
    if (here < cols) if (member == 0) mean[c] = part[lane] / rows;
}

void run_column_share(float* mean, const float* x, int rows, int cols) {
    column_share<<<(cols + 7) / 8, 256>>>(mean, x, rows, cols);
}
