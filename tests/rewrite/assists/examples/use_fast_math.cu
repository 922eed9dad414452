// --- shares applies
__global__ void shares(float* out, const float* x, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) { return; }
    float sum = 0.0f;
    for (int i = 0; i < columns; i++) {
        sum += expf(x[row * columns + i]);
    }
    float scale = 1.0 / sqrtf(columns);
    for (int i = 0; i < columns; i++) {
        out[row * columns + i] = expf(x[row * columns + i]) / sum * scale;
    }
}
// --- shares becomes
__global__ void shares(float* out, const float* x, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) { return; }
    float sum = 0.0f;
    for (int i = 0; i < columns; i++) {
        sum += __expf(x[row * columns + i]);
    }
    float scale = rsqrtf(columns);
    for (int i = 0; i < columns; i++) {
        out[row * columns + i] = __expf(x[row * columns + i]) / sum * scale;
    }
}
// --- losses applies
__global__ void losses(float* out, const float* p, const float* v, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = 2.0f * p[i] / sqrtf(v[i] + 1.0f) + log(p[i]) + logf(v[i]);
    }
}
// --- losses becomes
__global__ void losses(float* out, const float* p, const float* v, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = 2.0f * p[i] * rsqrtf(v[i] + 1.0f) + __logf(p[i]) + __logf(v[i]);
    }
}
// --- losses applies
__global__ void losses(float* out, const float* p, const float* v, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = 1 / (sqrt(v[i])) + 1.f / sqrtf((float)n);
    }
}
// --- losses becomes
__global__ void losses(float* out, const float* p, const float* v, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = rsqrtf(v[i]) + rsqrtf((float)n);
    }
}
// --- one refuses: from -pi to pi
__global__ void one(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = sinf(x[i]) + cosf(x[i]); }
}
// --- one refuses: keeps 11 bits
__global__ void one(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = tanhf(x[i]); }
}
// --- one refuses: NaN for a negative
__global__ void one(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = powf(x[i], 2.5f); }
}
// --- one refuses: use log1pf
__global__ void one(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = logf(1.0f + x[i]); }
}
// --- one refuses: double precision
__global__ void one(double* out, const double* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = x[i] / sqrtf(2.0f) + 1.0; }
}
// --- one refuses: double precision
__global__ void one(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = 1.0 / sqrtf(x[i]) * 0.1; }
}
// --- one refuses: this file's own
__device__ float expf(float v) { return 1.0f + v; }
__global__ void one(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = expf(x[i]); }
}
// --- one refuses: this file's own
#define expf(v) (1.0f + (v))
__global__ void one(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = expf(x[i]); }
}
// --- divide refuses: beyond 2**126
__global__ void divide(float* out, const float* x, float sum, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) { out[i] = x[i] / sum; }
}
