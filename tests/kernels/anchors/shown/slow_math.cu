__global__ void soft(float* out, const float* inp, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = expf(inp[i]); }
}
// ---
__global__ void norm(float* out, const float* inp, float var, int n) {
    float s = 1.0f / sqrtf(var + 1e-5f), total = var;
    for (int i = threadIdx.x; i < n; i += 32) { out[i] = inp[i] * s / total; }
}
