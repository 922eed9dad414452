__global__ void scores(float* out, const float* q, const float* k, int n, int D) {
    __shared__ float weights[1024];
    for (int t = threadIdx.x; t < n; t += blockDim.x) {
        float dot = 0.0f;
        for (int d = 0; d < D; d++) { dot += q[d] * k[t * D + d]; }
        weights[t] = dot;
    }
    __syncthreads();
    if (threadIdx.x < n) { out[threadIdx.x] = weights[n - 1 - threadIdx.x]; }
}
// ---
__global__ void mixed(float* out, const float* v, const float* weights, int n, int D) {
    float sum = 0.0f;
    for (int t = 0; t < n; t++) { sum += weights[t] * v[t * D + threadIdx.x]; }
    out[threadIdx.x] = sum;
}
