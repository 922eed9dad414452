// facts: noalias(out, x) = False
// because: exclusive(x)
__global__ void add_in_place(float* out, float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] += x[i]; }
}
