// grid (G, N): one block for a group of a sample, tree in shared memory
template <typename T, int BLOCK>
__global__ void groupnorm(const T* __restrict__ x, const T* __restrict__ weight, const T* __restrict__ bias, T* __restrict__ y, int C, int HW, int G, float eps) {
    __shared__ float s1[BLOCK];
    __shared__ float s2[BLOCK];
    const int g = blockIdx.x, n = blockIdx.y, tid = threadIdx.x;
    const int D = C / G;
    const size_t base = ((size_t)n * C + g * D) * HW;
    float a = 0.f, b = 0.f;
    for (int i = tid; i < D * HW; i += BLOCK) {
        float v = x[base + i];
        a += v;
        b += v * v;
    }
    s1[tid] = a; s2[tid] = b;
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s /= 2) {
        if (tid < s) { s1[tid] += s1[tid + s]; s2[tid] += s2[tid + s]; }
        __syncthreads();
    }
    const float mean = s1[0] / (D * HW);
    const float rstd = rsqrtf(s2[0] / (D * HW) - mean * mean + eps);
    for (int i = tid; i < D * HW; i += BLOCK) {
        const int c = g * D + i / HW;
        y[base + i] = (x[base + i] - mean) * rstd * weight[c] + bias[c];
    }
}
void run(const float* x, const float* weight, const float* bias, float* y, int N, int C, int HW, int G, float eps) {
    groupnorm<float, 256><<<dim3(G, N), 256>>>(x, weight, bias, y, C, HW, G, eps);
}
