__global__ void total(float* out, const float* inp, int C) {
    const float* x = inp + blockIdx.x * C;
    float s = 0.0f;
    for (int i = 0; i < C; i++) { s += x[i]; }
    out[blockIdx.x] = s;
}
// ---
__global__ void column(float* out, const float* inp, int n) {
    float s = 0.0f;
    for (int k = 0; k < n; k++) { s += inp[k * n + threadIdx.x]; }
    out[threadIdx.x] = s;
}
