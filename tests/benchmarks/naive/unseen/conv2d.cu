__global__ void conv2d(const float* input, const float* kernel, float* output, int H, int W, int KH, int KW) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int OH = H - KH + 1;
    int OW = W - KW + 1;
    if (row < OH && col < OW) {
        float sum = 0.0f;
        for (int i = 0; i < KH; i++) {
            for (int j = 0; j < KW; j++) {
                sum += input[(row + i) * W + (col + j)] * kernel[i * KW + j];
            }
        }
        output[row * OW + col] = sum;
    }
}

void run(const float* input, const float* kernel, float* output, int H, int W, int KH, int KW) {
    dim3 block(16, 16);
    dim3 grid((W - KW + 1 + 15) / 16, (H - KH + 1 + 15) / 16);
    conv2d<<<grid, block>>>(input, kernel, output, H, W, KH, KW);
}
