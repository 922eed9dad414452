__global__ void max_pool2d(const float* x, float* y, int planes, int H, int W, int k, int stride) {
    int OH = (H - k) / stride + 1, OW = (W - k) / stride + 1;
    int ow = blockIdx.x * blockDim.x + threadIdx.x;
    int oh = blockIdx.y * blockDim.y + threadIdx.y;
    int p = blockIdx.z;
    if (ow >= OW || oh >= OH) return;
    float best = -1e30f;
    for (int i = 0; i < k; i++)
        for (int j = 0; j < k; j++) {
            float v = x[(p * H + oh * stride + i) * W + ow * stride + j];
            if (v > best) best = v;
        }
    y[(p * OH + oh) * OW + ow] = best;
}
void run(const float* x, float* y, int planes, int H, int W, int k, int stride) {
    dim3 block(16, 16);
    dim3 grid(((W - k) / stride + 1 + 15) / 16, ((H - k) / stride + 1 + 15) / 16, planes);
    max_pool2d<<<grid, block>>>(x, y, planes, H, W, k, stride);
}
