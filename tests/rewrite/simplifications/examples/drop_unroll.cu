// --- applies
__global__ void k(float* out, const float* x) {
    float sum = 0.0f;
    #pragma unroll 4
    for (int i = 0; i < 8; i++) {
        sum += x[i];
    }
    out[0] = sum;
}
// --- becomes
__global__ void k(float* out, const float* x) {
    float sum = 0.0f;
    for (int i = 0; i < 8; i++) {
        sum += x[i];
    }
    out[0] = sum;
}
// --- stays
__global__ void k(float* out, const float* x) {
    float sum = 0.0f;
    for (int i = 0; i < 8; i++) {
        sum += x[i];
    }
    out[0] = sum;
}
