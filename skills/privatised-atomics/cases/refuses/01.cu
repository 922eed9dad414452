// facts: elements(counts) = 1000000
// because: elements(x) <= 4096
__global__ void histogram(unsigned int* counts, const unsigned char* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { atomicAdd(&counts[x[i]], 1u); }
}
