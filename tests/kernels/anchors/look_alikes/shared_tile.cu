__global__ void turn(float* out, const float* inp, int n) {
    __shared__ float tile[32][33];
    tile[threadIdx.y][threadIdx.x] = inp[threadIdx.y * n + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
// ---
__global__ void keep(float* out, const float* inp, int n) {
    __shared__ float tile[32][32];
    tile[threadIdx.y][threadIdx.x] = inp[threadIdx.y * n + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * n + threadIdx.x] = tile[31 - threadIdx.y][threadIdx.x];
}
