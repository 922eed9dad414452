__global__ void sum_in_block(float* out, const float* x, int n) {
    __shared__ float part[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int k = 0; k < 256; k++) { sum += part[k]; }
        atomicAdd(out, sum);
    }
}

void launch(float* out, const float* x, int n) { sum_in_block<<<(n + 255) / 256, 256>>>(out, x, n); }
