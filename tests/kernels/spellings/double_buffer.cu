__global__ void stage(float* out, const float* inp, int rounds) {
    __shared__ float tile[2][256];
    int now = 0;
    tile[now][threadIdx.x] = inp[threadIdx.x];
    for (int r = 1; r < rounds; r++) {
        __syncthreads();
        tile[now ^ 1][threadIdx.x] = inp[r * 256 + threadIdx.x];
        out[threadIdx.x] += tile[now][255 - threadIdx.x];
        now ^= 1;
    }
}
// ---
__global__ void stage(float* out, const float* inp, int rounds) {
    __shared__ float tile[3][256];
    for (int r = 0; r < rounds; r++) {
        tile[r % 3][threadIdx.x] = inp[r * 256 + threadIdx.x];
        __syncthreads();
        out[threadIdx.x] += tile[r % 3][255 - threadIdx.x];
    }
}
// ---
__global__ void k(float* y, const float* x, int n) { __shared__ float t[2][64]; int b = 0; for (int r = 0; r < n; r++) { t[b][threadIdx.x] = x[r * 64 + threadIdx.x]; __syncthreads(); y[threadIdx.x] += t[b][63 - threadIdx.x]; b = 1 - b; } }
// ---
__global__ void k(float* y, const float* x, int n) { __shared__ float t[2][64]; bool b = false; for (int r = 0; r < n; r++) { t[b][threadIdx.x] = x[r * 64 + threadIdx.x]; __syncthreads(); y[threadIdx.x] += t[b][63 - threadIdx.x]; b = !b; } }
// ---
__global__ void k(float* y, const float* x, int n) { __shared__ float t[2][64]; for (int r = 0; r < n; r++) { t[r & 1][threadIdx.x] = x[r * 64 + threadIdx.x]; __syncthreads(); y[threadIdx.x] += t[r & 1][63 - threadIdx.x]; } }
// ---
__global__ void k(float* y, const float* x, int n) { __shared__ float t[2 * 64]; int at = 0; for (int r = 0; r < n; r++) { t[at + threadIdx.x] = x[r * 64 + threadIdx.x]; __syncthreads(); y[threadIdx.x] += t[at + 63 - threadIdx.x]; at ^= 64; } }
// ---
__global__ void k(float* y, const float* x, int n) { __shared__ float t[2 * 64]; int s = 0; for (int r = 0; r < n; r++) { t[s * 64 + threadIdx.x] = x[r * 64 + threadIdx.x]; __syncthreads(); y[threadIdx.x] += t[s * 64 + 63 - threadIdx.x]; s ^= 1; } }
// ---
__global__ void k(float* y, const float* x, int n) { __shared__ float t[4 * 64]; for (int r = 0; r < n; r++) { int s = r % 4; t[s * 64 + threadIdx.x] = x[r * 64 + threadIdx.x]; __syncthreads(); y[threadIdx.x] += t[s * 64 + 63 - threadIdx.x]; } }
// ---
__global__ void k(float* y, const float* x, int n) { extern __shared__ float t[]; int off = 0; for (int r = 0; r < n; r++) { t[off + threadIdx.x] = x[r * 64 + threadIdx.x]; __syncthreads(); y[threadIdx.x] += t[off + 63 - threadIdx.x]; off = 64 - off; } }
