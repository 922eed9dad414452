// facts: elements(x) = 4096, elements(out) = 4096
// because: elements(x) >= 1048576
__global__ void scale(float* out, const float* x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = factor * x[i]; }
}
