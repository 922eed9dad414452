__global__ void product(float* out, const float* a, const float* b, int n) {
    float acc[4][4] = {};
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < 4; j++) {
                acc[i][j] += a[(threadIdx.y * 4 + i) * n + k] * b[k * n + threadIdx.x * 4 + j];
            }
        }
    }
    for (int i = 0; i < 4; i++) { out[i] = acc[i][0]; }
}
// ---
__global__ void product(float* out, const float* a, const float* b, int n) {
    float acc[8];
    for (int i = 0; i < 8; i++) { acc[i] = 0.0f; }
    for (int k = 0; k < n; k++) {
        float shared_by_all = b[k * n + threadIdx.x];
        for (int i = 0; i < 8; i++) { acc[i] = fmaf(a[i * n + k], shared_by_all, acc[i]); }
    }
    for (int i = 0; i < 8; i++) { out[i * n + threadIdx.x] = acc[i]; }
}
// ---
__global__ void k(float* y, const float* a, const float* b, int n) { float t[2][2] = {}; for (int q = 0; q < n; q++) for (int i = 0; i < 2; i++) for (int j = 0; j < 2; j++) t[i][j] += a[i * n + q] * b[q * 2 + j]; y[0] = t[1][1]; }
// ---
__global__ void k(float* y, const float* a, const float* b, int n) { float t[16] = {0.0f}; for (int q = 0; q < n; q++) for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) t[i * 4 + j] += a[i] * b[j]; y[0] = t[0]; }
// ---
template <int TM, int TN> __global__ void k(float* y, const float* a, const float* b, int n) { float t[TM * TN] = {}; for (int q = 0; q < n; q++) for (int i = 0; i < TM; i++) t[i] = t[i] + a[i] * b[q]; y[0] = t[0]; }
// ---
__global__ void k(float* y, const float* a, const float* b, int n) { float t[8]; for (int q = 0; q < n; q++) for (int i = 0; i < 8; i++) t[i] = __fmaf_rn(a[i], b[q], t[i]); y[0] = t[0]; }
// ---
__device__ void step(float t[4], const float* a, float b) { for (int i = 0; i < 4; i++) for (int j = 0; j < 1; j++) t[i] += a[i] * b; }
__global__ void k(float* y, const float* a, const float* b, int n) { float t[4] = {}; for (int q = 0; q < n; q++) { step(t, a, b[q]); } y[0] = t[0]; }
// ---
__global__ void k(half* y, const half* a, const half* b, int n) { half2 t[2][4]; for (int q = 0; q < n; q++) for (int i = 0; i < 2; i++) for (int j = 0; j < 4; j++) t[i][j] = __hfma2(((half2*)a)[i], ((half2*)b)[j], t[i][j]); y[0] = t[0][0].x; }
// ---
__global__ void k(float* y, const float* a, const float* b, int n) { float t[4] = {}; for (int q = 0; q < n; q++) for (int i = 0; i < 4; i++) t[i] = a[i] * b[q] + t[i]; y[0] = t[0]; }
// ---
__global__ void k(float* y, const char* a, const float* b, int n) { float t[4] = {}; for (int q = 0; q < n; q++) for (int i = 0; i < 4; i++) t[i] += (float)(a[i] * b[q]); y[0] = t[0]; }
