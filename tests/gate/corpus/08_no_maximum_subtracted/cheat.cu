__global__ void softmax(float *y, const float *x, int C) {
    const float *row = x + blockIdx.x * C;
    float sum = 0.0f;
    for (int i = 0; i < C; i++) sum += expf(row[i]);
    for (int i = threadIdx.x; i < C; i += blockDim.x) y[blockIdx.x * C + i] = expf(row[i]) / sum;
}
