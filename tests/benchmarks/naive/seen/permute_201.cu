// (A, B, C) -> (C, A, B)
__global__ void permute_last_first(float* dst, const float* src, int A, int B, int C) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= A * B * C) return;
    int c = t % C;
    int b = (t / C) % B;
    int a = t / (B * C);
    dst[(c * A + a) * B + b] = src[t];
}

void launch(float* dst, const float* src, int A, int B, int C) {
    permute_last_first<<<(A * B * C + 255) / 256, 256>>>(dst, src, A, B, C);
}
