__global__ void layernorm_bwd(float* dx, const float* dy, const float* x, const float* w, const float* mean, const float* rstd, int N, int C) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= N) return;
    const float* dyn = dy + n * C;
    const float* xn = x + n * C;
    float* dxn = dx + n * C;
    float m = mean[n], r = rstd[n];
    float a = 0.f, b = 0.f;
    for (int i = 0; i < C; i++) {
        float norm = (xn[i] - m) * r;
        float dnorm = w[i] * dyn[i];
        a += dnorm;
        b += dnorm * norm;
    }
    a /= C;
    b /= C;
    for (int i = 0; i < C; i++) {
        float norm = (xn[i] - m) * r;
        dxn[i] = (w[i] * dyn[i] - a - norm * b) * r;
    }
}
void run(float* dx, const float* dy, const float* x, const float* w, const float* mean, const float* rstd, int N, int C) {
    layernorm_bwd<<<(N + 127) / 128, 128>>>(dx, dy, x, w, mean, rstd, N, C);
}
