__global__ void fill(float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;  // if (i < n)
    out[i] = threadIdx.x < 32 ? 1.0f : 0.0f;
    if (threadIdx.x < 32) { out[i] = 2.0f; }
}
