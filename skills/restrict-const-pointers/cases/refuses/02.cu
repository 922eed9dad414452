// because: no anchor
__global__ void scale(float* __restrict__ out, const float* __restrict__ x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = factor * x[i]; }
}
