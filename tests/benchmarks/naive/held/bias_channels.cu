__global__ void bias_relu(float* x, const float* bias, int N, int C, int HW) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N * C * HW) return;
    int c = (i / HW) % C;
    float v = x[i] + bias[c];
    x[i] = v > 0.f ? v : 0.f;
}
void run(float* x, const float* bias, int N, int C, int HW) {
    bias_relu<<<(N * C * HW + 255) / 256, 256>>>(x, bias, N, C, HW);
}
