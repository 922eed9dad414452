__global__ void scale_rows(float* out, const float* inp, int C) {
    const float* x = inp + blockIdx.x * C;
    for (int i = threadIdx.x; i < C; i += blockDim.x) { out[blockIdx.x * C + i] = 2.0f * x[i]; }
}
// ---
__global__ void product(float* out, const float* a, const float* b, int n) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float s = 0.0f;
    for (int k = 0; k < n; k++) { s += a[row * n + k] * b[k * n + col]; }
    out[row * n + col] = s;
}
// ---
__global__ void transpose(float* out, const float* inp, int n) {
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = inp[y * n + x];
    __syncthreads();
    x = blockIdx.x * 32 + threadIdx.y;
    y = blockIdx.y * 32 + threadIdx.x;
    out[x * n + y] = tile[threadIdx.x][threadIdx.y];
}
// ---
__global__ void k(float* y, const float* x, int n) { y[threadIdx.x] = x[threadIdx.x]; }
// ---
__global__ void k(float* y, const float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i]; }
// ---
__global__ void k(float* y, const float* x, int n) { int c = threadIdx.x, r = blockIdx.y; y[r * n + c] = x[r * n + c]; }
// ---
__global__ void k(float* y, const float* x, int n) { float* o = y + blockIdx.x * n; o[threadIdx.x] = x[threadIdx.x]; }
// ---
__global__ void k(float* y, const float* x, int n) { y[n - 1] = 0; y[blockIdx.x * 32 + threadIdx.x % 32] = x[threadIdx.x]; }
