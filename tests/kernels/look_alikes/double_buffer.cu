__global__ void turn(float* out, const float* inp, int n) {
    __shared__ float tile[2][256];
    tile[threadIdx.x % 2][threadIdx.x] = inp[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[0][threadIdx.x] + tile[1][threadIdx.x];
}
// ---
__global__ void stage(float* out, const float* inp, int rounds) {
    __shared__ float tile[256];  // double buffer: tile[2][256]
    for (int r = 0; r < rounds; r++) {
        tile[threadIdx.x] = inp[r * 256 + threadIdx.x];
        __syncthreads();
        out[threadIdx.x] += tile[255 - threadIdx.x];
        __syncthreads();
    }
}
