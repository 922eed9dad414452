__global__ void total(float* out, const float* inp, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N) {
        float s = 0.0f;
        for (int i = 0; i < C; i++) { s += inp[row * C + i]; }
        out[row] = s;
    }
}
// ---
__global__ void total(float* out, const float* inp, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    const float* x = inp + row * C;
    float s = 0.0f;
    for (int i = 0; i < C; ++i) { s += x[i]; }
    out[row] = s;
}
// ---
__global__ void k(float* y, const float* x, const int* begins, int n) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= n) return;
    float total = 0;
    for (int i = begins[s]; i < begins[s + 1]; i++) total += x[i];
    y[s] = total;
}
// ---
__global__ void k(float* y, const float* x, int n, int m) {
    for (int r = blockIdx.x * blockDim.x + threadIdx.x; r < n; r += gridDim.x * blockDim.x) {
        float total = 0;
        for (int i = 0; i < m; i++) total += x[r * m + i];
        y[r] = total;
    }
}
// ---
__global__ void k(float* y, const float* x, int n, int m) {
    const int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r >= n) return;
    float total = 0;
    for (int i = 0; i < m; i++) total += x[r * m + i];
    y[r] = total;
}

// ---
__global__ void k(float* y, const float* x, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * m) return;
    float total = 0;
    for (int k = 0; k < m; k++) total += x[i / m * m + k];
    y[i] = x[i] / total;
}
