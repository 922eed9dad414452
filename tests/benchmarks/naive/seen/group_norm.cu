__global__ void group_norm(const float* x, const float* gamma, const float* beta, float* y, int N, int C, int HW, int G, float eps) {
    int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= N * G) return;
    int D = C / G * HW;
    const float* xg = x + (size_t)g * D;
    float* yg = y + (size_t)g * D;
    float mean = 0.f;
    for (int i = 0; i < D; i++) mean += xg[i];
    mean /= D;
    float var = 0.f;
    for (int i = 0; i < D; i++) { float d = xg[i] - mean; var += d * d; }
    var /= D;
    float rs = rsqrtf(var + eps);
    for (int i = 0; i < D; i++) {
        int c = (g % G) * (C / G) + i / HW;
        yg[i] = (xg[i] - mean) * rs * gamma[c] + beta[c];
    }
}
void run(const float* x, const float* gamma, const float* beta, float* y, int N, int C, int HW, int G, float eps) {
    group_norm<<<(N * G + 63) / 64, 64>>>(x, gamma, beta, y, N, C, HW, G, eps);
}
