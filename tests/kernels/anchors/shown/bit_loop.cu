__global__ void distance(int* out, const unsigned* a, const unsigned* b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = 0;
    unsigned word = a[i] ^ b[i];
    for (int k = 0; k < 32; k++) n += (word >> k) & 1;
    out[i] = n;
}
// ---
__global__ void common(int* out, const unsigned char* a, const unsigned char* b) {
    int n = 0;
    for (int k = 0; k <= 7; ++k) {
        if ((a[threadIdx.x] >> k) & 1 && (b[threadIdx.x] >> k) & 1) { n++; }
    }
    out[threadIdx.x] = n;
}
// ---
__global__ void emptied(int* out, unsigned w) {
    int n = 0;
    for (; w; w >>= 1) n += w & 1u;
    out[threadIdx.x] = n;
}
