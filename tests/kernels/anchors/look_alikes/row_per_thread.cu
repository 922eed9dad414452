__global__ void total(float* out, const float* inp, int C) {
    float s = 0.0f;
    for (int i = threadIdx.x; i < C; i += blockDim.x) { s += inp[blockIdx.x * C + i]; }
    out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
// ---
__global__ void four(float* out, const float* inp) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 4; k++) { out[i * 4 + k] = inp[i * 4 + k]; }
}
// ---
__global__ void product(float* c, const float* a, const float* b, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x;
    float s = 0;
    for (int k = 0; k < K; k++) s += a[row * K + k] * b[k];
    c[row * N + col] = s;
}

// ---
__global__ void product(float* c, const float* a, const float* b, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    float s = 0;
    for (int k = 0; k < K; k++) s += a[row * K + k] * b[k * N + col];
    c[row * N + col] = s;
}
