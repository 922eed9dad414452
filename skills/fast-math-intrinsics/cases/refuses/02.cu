// because: dtype(x) == float32
__global__ void grow(double* out, const double* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = exp(x[i]); }
}
