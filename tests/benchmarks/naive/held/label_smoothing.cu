__global__ void ce_smooth(const float* __restrict__ pred, const int* __restrict__ y, float* __restrict__ loss, int B, int K, float smooth, int ignore) {
    int b = threadIdx.x + blockIdx.x * blockDim.x;
    if (b >= B) return;
    int label = y[b];
    if (label == ignore) { loss[b] = 0.f; return; }
    const float* p = pred + b * K;
    float m = p[0];
    for (int k = 1; k < K; k++) m = max(m, p[k]);
    float se = 0.f, mean = 0.f;
    for (int k = 0; k < K; k++) { se += expf(p[k] - m); mean += p[k]; }
    float lse = logf(se) + m;
    loss[b] = (1.f - smooth) * (lse - p[label]) + smooth * (lse - mean / K);
}
void run(const float* pred, const int* y, float* loss, int B, int K, float smooth, int ignore) {
    ce_smooth<<<(B + 127) / 128, 128>>>(pred, y, loss, B, K, smooth, ignore);
}
