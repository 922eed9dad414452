__global__ void four(float* out, const float* inp) {
    for (int k = 0; k < 4; k++) { out[k * 32 + threadIdx.x] = inp[k * 32 + threadIdx.x]; }
}
// ---
template <int TILE>
__global__ void product(float* out, const float* a, const float* b, int n) {
    float s = 0.0f;
    for (int t = 0; t < n; t += TILE) {
        for (int k = 0; k < TILE; k++) { s += a[t + k] * b[(t + k) * n + threadIdx.x]; }
    }
    out[threadIdx.x] = s;
}
