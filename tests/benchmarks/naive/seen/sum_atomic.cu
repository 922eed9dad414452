__global__ void total(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(out, x[i]);
    }
}

void run(const float* x, float* out, int n) {
    total<<<(n + 255) / 256, 256>>>(x, out, n);
}
