__global__ void product(float* out, const float* a, const float* b, int n) {
    float acc = 0.0f;
    for (int k = 0; k < n; k++) { acc += a[threadIdx.y * n + k] * b[k * n + threadIdx.x]; }
    out[threadIdx.y * n + threadIdx.x] = acc;
}
// ---
__global__ void product(float* out, const float* a, const float* b, int n) {
    __shared__ float acc[256];
    acc[threadIdx.x] = 0.0f;
    for (int k = 0; k < n; k++) {
        for (int j = 0; j < 2; j++) { acc[threadIdx.x] += a[k + j] * b[k]; }
    }
    out[threadIdx.x] = acc[threadIdx.x];
}
