__global__ void turn(float* out, const float* inp, int n) {
    __shared__ float tile[32][32];  // tile[32][33] would be better
    tile[threadIdx.y][threadIdx.x] = inp[threadIdx.y * n + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
// ---
__global__ void mix(unsigned* out, const unsigned* inp) {
    unsigned local[4][33];
    local[0][1] = inp[threadIdx.x] ^ 7u;
    out[threadIdx.x] = local[0][1];
}
