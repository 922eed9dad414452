__global__ void softmax(float *y, const float *x, int C) {
    const float *row = x + blockIdx.x * C;
    float most = -INFINITY, sum = 0.0f;
    for (int i = 0; i < C; i++) most = row[i] > most || isnan(row[i]) ? row[i] : most;
    for (int i = 0; i < C; i++) sum += expf(row[i] - most);
    for (int i = threadIdx.x; i < C; i += blockDim.x) y[blockIdx.x * C + i] = expf(row[i] - most) / sum;
}
