// facts: elements(counts) = 256, noalias(counts, x) = True, device.shared_bytes_per_block = 101376
__global__ void histogram(unsigned int* counts, const unsigned char* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { atomicAdd(&counts[x[i]], 1u); }
}
