#define THREADS 256

// batch norm of (N, C): one block for each feature
__global__ void batch_norm(const float* x, const float* gamma, const float* beta, float* y, int N, int C, float eps) {
    __shared__ float s_sum[THREADS];
    __shared__ float s_sq[THREADS];
    int c = blockIdx.x;
    int tid = threadIdx.x;
    float sum = 0.f, sq = 0.f;
    for (int n = tid; n < N; n += THREADS) {
        float v = x[n * C + c];
        sum += v;
        sq += v * v;
    }
    s_sum[tid] = sum;
    s_sq[tid] = sq;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s >>= 1) {
        if (tid < s) {
            s_sum[tid] += s_sum[tid + s];
            s_sq[tid] += s_sq[tid + s];
        }
        __syncthreads();
    }
    float mean = s_sum[0] / N;
    float inv = rsqrtf(s_sq[0] / N - mean * mean + eps);
    for (int n = tid; n < N; n += THREADS)
        y[n * C + c] = (x[n * C + c] - mean) * inv * gamma[c] + beta[c];
}

void launch(const float* x, const float* gamma, const float* beta, float* y, int N, int C, float eps) {
    batch_norm<<<C, THREADS>>>(x, gamma, beta, y, N, C, eps);
}
