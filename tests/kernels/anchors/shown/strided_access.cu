__global__ void transpose(float* out, const float* inp, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    out[x * n + y] = inp[y * n + x];
}
// ---
__global__ void every_second(float* out, const float* inp) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = inp[2 * i];
}
