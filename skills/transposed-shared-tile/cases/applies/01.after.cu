__global__ void __launch_bounds__(256) swap_axes(const float* in, float* out, int rows, int cols) {
    // A block passes 64 x 64 elements on; padding puts a column of the tile into different banks.
    __shared__ float tile[64][65];
    const int lane = threadIdx.x % 64, line = threadIdx.x / 64;
    #pragma unroll
    for (int n = 0; n < 16; n++) {
        int x = blockIdx.x * 64 + lane;
        int y = blockIdx.y * 64 + line + n * 4;
        if (x < cols && y < rows) {
            tile[line + n * 4][lane] = in[y * cols + x];
        }
    }
    __syncthreads();
    #pragma unroll
    for (int n = 0; n < 16; n++) {
        int y = blockIdx.y * 64 + lane;
        int x = blockIdx.x * 64 + line + n * 4;
        if (x < cols && y < rows) {
            out[x * rows + y] = tile[lane][line + n * 4];
        }
    }
}

void launch(const float* in, float* out, int rows, int cols) {
    swap_axes<<<dim3((cols + 63) / 64, (rows + 63) / 64), 256>>>(in, out, rows, cols);
}
