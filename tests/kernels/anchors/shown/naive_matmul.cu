__global__ void product(float* out, const float* a, const float* b, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0.0f;
    for (int k = 0; k < n; k++) { s += a[row * n + k] * b[k * n + col]; }
    out[row * n + col] = s;
}
// ---
__global__ void linear(float* out, const float* inp, const float* weight, int C, int OC) {
    int bt = blockIdx.x * blockDim.x + threadIdx.x, oc = blockIdx.y * blockDim.y + threadIdx.y;
    const float* x = inp + bt * C;
    const float* w = weight + oc * C;
    float val = 0.0f;
    for (int i = 0; i < C; i++) { val += x[i] * w[i]; }
    out[bt * OC + oc] = val;
}
// ---
__global__ void scores(float* s, const float* q, int T, int D) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    const float *mine = q + i * D, *theirs = q + j * D;
    float dot = 0.0f;
    for (int d = 0; d < D; ++d, ++theirs) { float x = mine[d]; dot = fmaf(x, *theirs, dot); }
    s[i * T + j] = dot;
}
// ---
__global__ void counted(float* out, const float* a, const float* b, int M, int N, int K) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= M * N) return;
    int row = i / N;
    float s = 0.0f;
    for (int k = 0; k < K; k++) s += a[row * K + k] * b[k * N + i - row * N];
    out[i] = s;
}
