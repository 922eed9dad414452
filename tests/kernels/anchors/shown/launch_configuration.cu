__global__ void fill(float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = 1.0f; }
}
void run(float* out, int n) {
    const int block_size = 256;
    fill<<<(n + 255) / 256, block_size>>>(out, n);
}
// ---
__global__ void fill(float* out) { out[threadIdx.y * 16 + threadIdx.x] = 1.0f; }
void run(float* out, int block) { fill<<<1, dim3(block, block)>>>(out); }
