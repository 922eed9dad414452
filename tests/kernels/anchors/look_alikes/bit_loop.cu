__global__ void counted(int* out, const unsigned* a) { out[threadIdx.x] = __popc(a[threadIdx.x]); }
// ---
__global__ void halves(int* out, const int* a, int rounds) {
    int n = 0;
    for (int k = 0; k < rounds; k++) n += a[threadIdx.x] >> k;
    out[threadIdx.x] = n;
}
// ---
__global__ void spread(int* out, const unsigned* a) {
    for (int k = 0; k < 32; k++) { int bit = k & 1; out[k] = bit; }
}
// ---
__global__ void lowest(int* out, unsigned w) {
    int n = 0;
    while (w) { out[__ffs(w) - 1] = n; w &= w - 1; n++; }
}
// ---
__global__ void places(int* out, unsigned w) {
    int n = 0;
    while (w) { n++; w >>= 1; }
    out[0] = n;
}
