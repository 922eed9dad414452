__global__ void channels_last(const float* in, float* out, int N, int C, int P) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N * C * P) return;
    int p = i % P;
    int c = (i / P) % C;
    int n = i / (P * C);
    // Channels lie side by side.
    out[((size_t)n * P + p) * C + c] = in[i];
}
void run(const float* in, float* out, int N, int C, int P) {
    channels_last<<<(N * C * P + 127) / 128, 128>>>(in, out, N, C, P);
}
