// --- dot_rows applies
#define TILE 16

__global__ void dot_rows(float* out, const float* a, const float* b, int width) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < 128; k++) {
        sum += a[row * width + k] * b[k];
    }
    out[row] = sum;
}
// --- dot_rows becomes
#define TILE 16

__global__ void dot_rows(float* out, const float* a, const float* b, int width) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    #pragma unroll 4
    for (int k = 0; k < 128; k++) {
        sum += a[row * width + k] * b[k];
    }
    out[row] = sum;
}
// --- dot_tiles applies
#define TILE 16

__global__ void dot_tiles(float* out, const float* a, const float* b, int width) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < TILE; ++k) {
        sum += a[row * width + k] * b[k];
    }
    out[row] = sum;
}
// --- dot_tiles becomes
#define TILE 16

__global__ void dot_tiles(float* out, const float* a, const float* b, int width) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    #pragma unroll
    for (int k = 0; k < TILE; ++k) {
        sum += a[row * width + k] * b[k];
    }
    out[row] = sum;
}
// --- dot_rows refuses: may end early
#define TILE 16

__global__ void dot_rows(float* out, const float* a, const float* b, int width) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < width; k++) {
        if (b[k] == 0.0f) break;
        sum += a[row * width + k] * b[k];
    }
    out[row] = sum;
}
// --- dot_rows refuses: not a statement on a line of its own
#define TILE 16

__global__ void dot_rows(float* out, const float* a, const float* b, int width) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    if (row < 4) for (int k = 0; k < width; k++) {
        sum += a[row * width + k] * b[k];
    }
    out[row] = sum;
}
