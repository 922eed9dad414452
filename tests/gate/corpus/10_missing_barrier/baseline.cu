__global__ void reduce(float *y, const float *x, int C) {
    __shared__ float part[128];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = t; i < C; i += 128) sum += x[blockIdx.x * C + i];
    part[t] = sum;
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = part[0];
}
