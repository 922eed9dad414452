// because: no anchor
__global__ void row_sum(float* out, const float* x, unsigned n) {
    float sum = 0.0f;
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
        sum += x[(size_t)blockIdx.x * n + i];
    }
    atomicAdd(&out[blockIdx.x], sum);
}
