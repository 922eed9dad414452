__global__ void nchw_to_nhwc(const float* in, float* out, int N, int C, int H, int W) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N * C * H * W) return;
    int w = i % W;
    int h = (i / W) % H;
    int c = (i / (W * H)) % C;
    int n = i / (W * H * C);
    out[((n * H + h) * W + w) * C + c] = in[i];
}
void run(const float* in, float* out, int N, int C, int H, int W) {
    nchw_to_nhwc<<<(N * C * H * W + 255) / 256, 256>>>(in, out, N, C, H, W);
}
