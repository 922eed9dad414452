__global__ void normaliser(float* out, const float* inp, int C) {
    const float* x = inp + blockIdx.x * C;
    float top = -INFINITY, sum = 0.0f;
    for (int i = 0; i < C; i++) { top = fmaxf(top, x[i]); }
    for (int i = 0; i < C; i++) { sum += expf(x[i] - top); }
    out[blockIdx.x] = sum;
}
// ---
__global__ void variance(float* out, const float* inp, int C) {
    float m = 0.0f, v = 0.0f;
    for (int i = threadIdx.x; i < C; i += 32) { m += inp[i]; }
    for (int i = threadIdx.x; i < C; i += 32) { float d = inp[i] - m / C; v += d * d; }
    out[threadIdx.x] = v;
}
