__global__ void distance(int* out, const unsigned* a, const unsigned* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __popc(a[i] ^ b[i]);
}
