__global__ void turn(float* out, const float* inp, int n) {
    __shared__ float tile[32][32];
    tile[threadIdx.y][threadIdx.x] = inp[threadIdx.y * n + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
// ---
#define TILE 32
__global__ void turn(float* out, const float* inp, int n) {
    __shared__ float tile[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    for (int j = 0; j < TILE; j += 8) { tile[ty + j][tx] = inp[(ty + j) * n + tx]; }
    __syncthreads();
    for (int j = 0; j < TILE; j += 8) { out[(ty + j) * n + tx] = tile[tx][ty + j]; }
}
