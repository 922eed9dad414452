// facts: noalias(out, x) = True
__global__ void scale(float* out, float* x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = factor * x[i]; }
}
