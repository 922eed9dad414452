// facts: kernel.spills = 64
// because: kernel.spills == 0
__global__ void row_products(float* out, const float* x, const float* y, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < 16; k++) {
        sum += x[row * 16 + k] * y[k];
    }
    if (row < n) { out[row] = sum; }
}
