__global__ void scale(float* y, const float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { y[i] = a * x[i]; }
}
__global__ void shift(float* z, const float* y, float b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { z[i] = y[i] + b; }
}
void run(float* z, float* y, const float* x, float a, float b, int n) {
    int blocks = (n + 255) / 256;
    scale<<<blocks, 256>>>(y, x, a, n);
    shift<<<blocks, 256>>>(z, y, b, n);
}
// ---
__global__ void row_mean(float* mean, const float* x, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) { return; }
    float sum = 0.0f;
    for (int c = 0; c < cols; c++) { sum += x[r * cols + c]; }
    mean[r] = sum / cols;
}
__global__ void centred(float* y, const float* x, const float* mean, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) { return; }
    for (int c = 0; c < cols; c++) { y[r * cols + c] = x[r * cols + c] - mean[r]; }
}
void run(float* y, float* mean, const float* x, int rows, int cols) {
    dim3 grid((rows + 127) / 128), block(128);
    row_mean<<<grid, block>>>(mean, x, rows, cols);
    cudaDeviceSynchronize();
    centred<<<grid, block>>>(y, x, mean, rows, cols);
}
