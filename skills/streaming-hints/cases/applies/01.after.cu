__global__ void scale(float* out, const float* x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { __stcs(&out[i], factor * __ldcs(&x[i])); }
}
