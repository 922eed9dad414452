__global__ void total(float* out, const float* inp, int C) {
    float s = 0.0f;
    for (int i = 0; i < C; i++) { s += inp[blockIdx.x * C + i]; }
    out[blockIdx.x] = s;
}
// ---
__global__ void product(float* out, const float* a, const float* b, int n) {
    int row = threadIdx.y;
    float s = 0.0f;
    for (int k = 0; k < n; k++) { s += a[row * n + k] * b[k * n + threadIdx.x]; }
    out[row * n + threadIdx.x] = s;
}
