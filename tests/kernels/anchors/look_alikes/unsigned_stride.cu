__global__ void total(float* out, const float* x, unsigned n) {
    float sum = 0.0f;
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
    atomicAdd(out, sum);
}
// ---
__global__ void total(float* out, const float* x, int n) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += (int)blockDim.x) sum += x[i];
    atomicAdd(out, sum);
}
// ---
__global__ void cleared(float* out, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = 0.0f;
}
