#define P(r, c) src[(r) * pitch + (c)]

__global__ void laplacian(float* __restrict__ dst, const float* __restrict__ src, int nx, int ny, int pitch) {
    int c = blockIdx.x * 16 + threadIdx.x;
    int r = blockIdx.y * 16 + threadIdx.y;
    if (r >= 1 && r + 1 < ny && c >= 1 && c + 1 < nx) {
        float side = P(r - 1, c) + P(r + 1, c) + P(r, c - 1) + P(r, c + 1);
        float corner = P(r - 1, c - 1) + P(r - 1, c + 1) + P(r + 1, c - 1) + P(r + 1, c + 1);
        dst[r * pitch + c] = 0.5f * side + 0.25f * corner - 3.0f * P(r, c);
    }
}

void apply(float* dst, const float* src, int nx, int ny, int pitch) {
    laplacian<<<dim3((nx + 15) / 16, (ny + 15) / 16), dim3(16, 16)>>>(dst, src, nx, ny, pitch);
}
