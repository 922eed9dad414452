__global__ void fill(float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;  // fill<<<1, 256>>>(out, n)
    if (i < n) { out[i] = 1.0f; }
}
// ---
__global__ void __launch_bounds__(1024) fill(float* out) { out[threadIdx.x] = 1.0f; }
void run(float* out, int block) { fill<<<1, block>>>(out); }
