__global__ void total(float* out, const float* x, int n) {
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    atomicAdd(out, sum);
}
// ---
__global__ void largest(float* out, const float* x, long long n) {
    float most = 0.0f;
    for (long long k = threadIdx.x; k < n; k = k + blockDim.x) {
        most = fmaxf(most, x[blockIdx.x * n + k]);
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = most;
}
