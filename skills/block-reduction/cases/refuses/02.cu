// facts: noalias(out, seen) = False, noalias(out, x) = True
// because: exclusive(x)
// Another argument is the same buffer: what it reads during the launch would lag behind.
__global__ void total(float* out, const float* seen, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && seen[0] < 100.0f) { atomicAdd(out, x[i]); }
}
