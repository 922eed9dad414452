__global__ void scale(float* out, const float* inp, int C) {
    int row = blockIdx.x;
    out[(int64_t)row * C + threadIdx.x] = 2.0f * inp[(int64_t)row * C + threadIdx.x];
}
// ---
__global__ void scale(float* out, const float* inp, size_t n) {
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = 2.0f * inp[i]; }
}
// ---
__global__ void k(float* y, int c) { long long at = (long long)blockIdx.x * c; y[at] = 0; }
// ---
__global__ void k(float* y, int c) { const size_t at = blockIdx.x * (size_t)c + threadIdx.x; y[at] = 0; }
// ---
__global__ void k(float* y, int c) { y[static_cast<int64_t>(blockIdx.x) * c] = 0; }
// ---
__global__ void k(float* y, int c) { y[size_t(blockIdx.x) * c] = 0; }
// ---
__global__ void k(float* y) { std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = 0; }
// ---
__global__ void k(float* y, int c) { float* row = y + (ptrdiff_t)blockIdx.x * c; row[threadIdx.x] = 0; }
