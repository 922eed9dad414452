__global__ void scores(const float* q, const float* k, float* s, int T, int D, float scale) {
    int head = blockIdx.z;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < T && j < T) {
        float acc = 0.0f;
        for (int d = 0; d < D; d++) {
            acc += q[(head * T + i) * D + d] * k[(head * T + j) * D + d];
        }
        s[(head * T + i) * T + j] = j <= i ? acc * scale : -1e9f;
    }
}

void run(const float* q, const float* k, float* s, int heads, int T, int D, float scale) {
    dim3 block(16, 16);
    dim3 grid((T + 15) / 16, (T + 15) / 16, heads);
    scores<<<grid, block>>>(q, k, s, T, D, scale);
}
