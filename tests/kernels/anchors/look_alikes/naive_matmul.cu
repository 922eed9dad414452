__global__ void product(float* out, const float* a, const float* b, int n) {
    __shared__ float ta[16][16], tb[16][16];
    float s = 0.0f;
    ta[threadIdx.y][threadIdx.x] = a[threadIdx.y * n + threadIdx.x];
    tb[threadIdx.y][threadIdx.x] = b[threadIdx.y * n + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < 16; k++) { s += ta[threadIdx.y][k] * tb[k][threadIdx.x]; }
    out[threadIdx.y * n + threadIdx.x] = s;
}
// ---
__global__ void dots(float* out, const float* a, const float* b, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0.0f;
    for (int i = 0; i < C; i++) { s += a[row * C + i] * b[row * C + i]; }
    out[row] = s;
}
// ---
__global__ void both_by_row(float* out, const float* a, const float* b, int n, int C) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0.0f;
    for (int k = 0; k < C; k++) { s += a[i / n * C + k] * b[i / n * C + k]; }
    out[i] = s;
}
