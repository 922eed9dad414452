__global__ void softmax(float *y, const float *x, int C) {
    const float *row = x + blockIdx.x * C;
    float most = -INFINITY, sum = 0.0f;
    for (int i = 0; i < C; i++) {
        float v = row[i];
        if (v > most || isnan(v)) {
            sum = most == -INFINITY ? sum : sum * expf(most - v);
            most = v;
        }
        sum += v == -INFINITY ? 0.0f : expf(v - most);
    }
    float scale = 1.0f / sum;
    for (int i = threadIdx.x; i < C; i += blockDim.x) y[blockIdx.x * C + i] = expf(row[i] - most) * scale;
}
