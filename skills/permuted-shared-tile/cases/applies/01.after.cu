__global__ void channels_last(const float* in, float* out, int N, int C, int P) {
    // Tiles of 32 x 32: along what lies side by side before, and along what does afterwards.
    __shared__ float tile[32][33];
    const int lane = threadIdx.x % 32, line = threadIdx.x / 32;
    const long long inner = P;
    const long long count = C;
    const long long across = (inner + 31) / 32;
    const long long down = (count + 31) / 32;
    const long long layers = (N * C * P + inner * count - 1) / (inner * count);
    for (long long block = blockIdx.x; block < layers * across * down; block += gridDim.x) {
        const long long rest = block % across * 32;
        const long long digit = block / across % down * 32;
        const long long outer = block / (across * down);
        const long long start = (outer * count + digit) * inner + rest;
        #pragma unroll 4
        for (int n_ = line; n_ < 32; n_ += blockDim.x / 32) {
            const long long at = start + n_ * inner + lane;
            if (lane < inner - rest && n_ < count - digit && at < N * C * P) {
                int i = (int)at;
                int p = i % P;
                int c = (i / P) % C;
                int n = i / (P * C);
                tile[n_][lane] = in[i];
            }
        }
        __syncthreads();
        #pragma unroll 4
        for (int n_ = line; n_ < 32; n_ += blockDim.x / 32) {
            const long long at = start + lane * inner + n_;
            if (n_ < inner - rest && lane < count - digit && at < N * C * P) {
                int i = (int)at;
                int p = i % P;
                int c = (i / P) % C;
                int n = i / (P * C);
                out[((size_t)n * P + p) * C + c] = tile[lane][n_];
            }
        }
        __syncthreads();
    }
}
void run(const float* in, float* out, int N, int C, int P) {
    channels_last<<<(((N * C * P + 127) / 128) + 7) / 8, 128>>>(in, out, N, C, P);
}
