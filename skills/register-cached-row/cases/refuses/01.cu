#define HELD 4
__global__ void center_rows(float* out, const float* x, int C) {
    __shared__ float part[256];
    const float* x_row = x + blockIdx.x * C;
    float held[HELD];
    float sum = 0.0f;
    #pragma unroll
    for (int k = 0; k < HELD; k++) {
        int i = threadIdx.x + k * blockDim.x;
        held[k] = i < C ? x_row[i] : 0.0f;
        sum += held[k];
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) { part[threadIdx.x] += part[threadIdx.x + s]; }
        __syncthreads();
    }
    float mean = part[0] / C;
    #pragma unroll
    for (int k = 0; k < HELD; k++) {
        int i = threadIdx.x + k * blockDim.x;
        if (i < C) { out[blockIdx.x * C + i] = held[k] - mean; }
    }
}
