// because: no anchor
// Each thread has a bin of its own choice; a tree adds up one number, a private histogram is the remedy.
__global__ void histogram(unsigned int* counts, const unsigned char* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { atomicAdd(&counts[x[i]], 1u); }
}
