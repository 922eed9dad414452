__global__ void swap_axes(const float* in, float* out, int rows, int cols) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (blockDim.x == 16 && blockDim.y == 16) {
        // One more column, so that a column of the tile lies in different banks.
        __shared__ float tile[16][17];
        if (x < cols && y < rows) {
            tile[threadIdx.y][threadIdx.x] = in[y * cols + x];
        }
        __syncthreads();
        {
            int x = blockIdx.x * 16 + threadIdx.y;
            int y = blockIdx.y * 16 + threadIdx.x;
            if (x < cols && y < rows) {
                out[x * rows + y] = tile[threadIdx.x][threadIdx.y];
            }
        }
    } else {
        if (x < cols && y < rows) {
            out[x * rows + y] = in[y * cols + x];
        }
    }
}

void launch(const float* in, float* out, int rows, int cols) {
    swap_axes<<<dim3((cols + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(in, out, rows, cols);
}
