__global__ void scale(float* out, const float* inp, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = a * inp[i]; }
}
// ---
__global__ void scale_rows(float* out, const float* inp, int C) {
    const float* x = inp + blockIdx.x * C;
    for (int c = threadIdx.x; c < C; c += blockDim.x) { out[blockIdx.x * C + c] = 2.0f * __ldcs(x + c); }
}
// ---
__global__ void multiply_complex(float* out, const float* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float re = a[2 * i], im = a[2 * i + 1];
        out[2 * i] = re * re - im * im;
        out[2 * i + 1] = 2.0f * re * im;
    }
}
// ---
__global__ void pool(float* out, const float* x, int n, int window) {
    int o = blockIdx.x * blockDim.x + threadIdx.x;
    if (o < n) {
        float sum = 0.0f;
        for (int j = 0; j < window; j++) { sum += x[o * window + j]; }
        out[o] = sum / window;
    }
}
