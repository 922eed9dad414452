__global__ void turn_tile(float* out, const float* x, int rows, int columns) {
    // klineage: tag x[row][column]
    // klineage: tag out[column][row]
    __shared__ float tile[32][33];
    int column = blockIdx.x * 32 + threadIdx.x;
    int row = blockIdx.y * 32 + threadIdx.y;
    if (row < rows && column < columns) { tile[threadIdx.y][threadIdx.x] = x[row * columns + column]; }
    __syncthreads();
    int to_column = blockIdx.y * 32 + threadIdx.x;
    int to_row = blockIdx.x * 32 + threadIdx.y;
    if (to_row < columns && to_column < rows) {
        // klineage: assert stored.row == at.row and stored.column == at.column
        out[to_row * rows + to_column] = tile[threadIdx.x][threadIdx.y];
    }
}
