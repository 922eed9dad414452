__global__ void k(int* out, const unsigned* a) {
    int n = 0;
    for (int b = 0; b < 32; b++) { n += (a[threadIdx.x] >> b) & 1; }  // __popc would do
    out[threadIdx.x] = n;
}
// ---
__device__ int popc_of(unsigned w);
__global__ void k(int* out, unsigned w) { out[0] = popc_of(w) & 31; }
