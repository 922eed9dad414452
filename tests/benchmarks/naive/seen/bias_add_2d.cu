__global__ void bias_relu(float* out, const float* x, const float* bias, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && col < cols) {
        float v = x[row * cols + col] + bias[col];
        out[row * cols + col] = v > 0.0f ? v : 0.0f;
    }
}

void launch(float* out, const float* x, const float* bias, int rows, int cols) {
    dim3 block(16, 16);
    dim3 grid((cols + 15) / 16, (rows + 15) / 16);
    bias_relu<<<grid, block>>>(out, x, bias, rows, cols);
}
