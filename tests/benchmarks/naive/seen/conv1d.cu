__global__ void conv1d(const float* x, const float* w, float* y, int n, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float acc = 0.0f;
        for (int j = 0; j < k; j++) {
            int at = i + j - k / 2;
            if (at >= 0 && at < n) {
                acc += x[at] * w[j];
            }
        }
        y[i] = acc;
    }
}

void run(const float* x, const float* w, float* y, int n, int k) {
    conv1d<<<(n + 255) / 256, 256>>>(x, w, y, n, k);
}
