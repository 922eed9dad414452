__global__ void layernorm(float* y, const float* x, const float* gamma, const float* beta, int B, int D, float eps) {
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= B) return;
    const float* xr = x + b * D;
    float* yr = y + b * D;
    float mean = 0;
    for (int d = 0; d < D; d++) mean += xr[d];
    mean /= D;
    float var = 0;
    for (int d = 0; d < D; d++) {
        float diff = xr[d] - mean;
        var += diff * diff;
    }
    var /= D;
    float rstd = rsqrtf(var + eps);
    for (int d = 0; d < D; d++) yr[d] = (xr[d] - mean) * rstd * gamma[d] + beta[d];
}

void run(float* y, const float* x, const float* gamma, const float* beta, int B, int D, float eps) {
    layernorm<<<(B + 63) / 64, 64>>>(y, x, gamma, beta, B, D, eps);
}
