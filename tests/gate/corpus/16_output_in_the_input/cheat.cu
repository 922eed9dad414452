__global__ void softmax(float *y, const float *x, int C) {
    const float *in = x + blockIdx.x * (size_t)C;
    float *out = y + blockIdx.x * (size_t)C;
    int lane = threadIdx.x;
    float most = -INFINITY;
    for (int i = lane; i < C; i += 32) most = fmaxf(most, in[i]);
    for (int d = 16; d > 0; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
    float sum = 0.0f;
    for (int i = lane; i < C; i += 32) {
        out[i] = in[i] - most;
        sum += expf(out[i]);
    }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    for (int i = lane; i < C; i += 32) out[i] = expf(in[i] - most) / sum;
}
