// max(0, |a - p| - |a - n| + margin) for each sample
__global__ void triplet(float* loss, const float* a, const float* p, const float* n, int batch, int dim, float margin) {
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= batch) return;
    float dp = 0.0f, dn = 0.0f;
    for (int i = 0; i < dim; ++i) {
        float x = a[b * dim + i];
        float u = x - p[b * dim + i];
        float v = x - n[b * dim + i];
        dp += u * u;
        dn += v * v;
    }
    loss[b] = fmaxf(0.0f, sqrtf(dp) - sqrtf(dn) + margin);
}

void launch(float* loss, const float* a, const float* p, const float* n, int batch, int dim, float margin) {
    triplet<<<(batch + 63) / 64, 64>>>(loss, a, p, n, batch, dim, margin);
}
