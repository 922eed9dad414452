// facts: noalias(out, x) = False, C = 1024, launch.block.x = 256
// because: exclusive(x)
__global__ void center_rows(float* out, const float* x, int C) {
    __shared__ float part[256];
    const float* x_row = x + blockIdx.x * C;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < C; i += blockDim.x) { sum += x_row[i]; }
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) { part[threadIdx.x] += part[threadIdx.x + s]; }
        __syncthreads();
    }
    float mean = part[0] / C;
    for (int i = threadIdx.x; i < C; i += blockDim.x) { out[blockIdx.x * C + i] = x_row[i] - mean; }
}
