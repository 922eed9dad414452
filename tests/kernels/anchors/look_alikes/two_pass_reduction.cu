__global__ void centre(float* out, const float* inp, int C) {
    float m = 0.0f;
    for (int i = 0; i < C; i++) { m += inp[i]; }
    for (int i = 0; i < C; i++) { out[i] = inp[i] - m / C; }
}
// ---
__global__ void pair(float* out, const float* a, const float* b, int C) {
    float s = 0.0f, t = 0.0f;
    for (int i = 0; i < C; i++) { s += a[i]; }
    for (int i = 0; i < C; i++) { t += b[i]; }
    out[threadIdx.x] = s * t;
}
