__global__ void mean_square(float *y, const float *x, int C) {
    const float *row = x + blockIdx.x * C;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < C; i += 32) sum += row[i] * row[i];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, s);
    if (threadIdx.x == 0) y[blockIdx.x] = sum / C;
}
