// facts: elements(counts) = 256, noalias(counts, seen) = False, noalias(counts, x) = True
// because: exclusive(x)
// Another argument is the same buffer: what it reads during the launch would lag behind.
__global__ void histogram(unsigned int* counts, const unsigned int* seen, const unsigned char* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && seen[x[i]] < 100u) { atomicAdd(&counts[x[i]], 1u); }
}
