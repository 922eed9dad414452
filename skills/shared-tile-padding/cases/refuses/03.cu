// because: no anchor
// Rows of 17 words spread a column over all banks already.
__global__ void turn_tile(float* out, const float* x) {
    __shared__ float tile[17][17];
    tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 17 + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * 17 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
