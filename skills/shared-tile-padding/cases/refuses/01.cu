// because: no anchor
// Rows are read as rows: neighbouring threads are in neighbouring banks already.
__global__ void reverse_rows(float* out, const float* x, int columns) {
    __shared__ float tile[32][32];
    tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * columns + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * columns + threadIdx.x] = tile[31 - threadIdx.y][threadIdx.x];
}
