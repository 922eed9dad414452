__global__ void row_sums(float* out, const float* x, int N, int C) {
    __shared__ float part[256];
    int row = blockIdx.x;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < C; i += blockDim.x) { sum += x[row * C + i]; }
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) { part[threadIdx.x] += part[threadIdx.x + s]; }
        __syncthreads();
    }
    if (threadIdx.x == 0) { out[row] = part[0]; }
}
