__global__ void reduce(float *y, const float *x, int C) {
    __shared__ float part[4];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = t; i < C; i += 128) sum += x[blockIdx.x * C + i];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffffu, sum, s);
    if (t % 32 == 0) part[t / 32] = sum;
    if (t == 0) y[blockIdx.x] = part[0] + part[1] + part[2] + part[3];
}
