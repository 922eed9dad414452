__global__ void row_sum(float* out, const float* x, int n) {
    __shared__ float part[256];
    float sum = 0.0f;
    #pragma unroll 8
    for (int i = threadIdx.x; i < n; i += (int)blockDim.x) {
        sum += x[(size_t)blockIdx.x * n + i];
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

void run_row_sum(float* out, const float* x, int rows, int n) { row_sum<<<rows, 256>>>(out, x, n); }
