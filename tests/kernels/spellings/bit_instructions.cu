__global__ void distance(int* out, const unsigned* a, const unsigned* b) {
    out[threadIdx.x] = __popc(a[threadIdx.x] ^ b[threadIdx.x]);
}
// ---
__global__ void k(int* out, const unsigned long long* a) { out[0] = __popcll(a[threadIdx.x]); }
// ---
__global__ void k(int* out, const int* a) { out[threadIdx.x] = 31 - __clz(a[threadIdx.x]); }
// ---
__global__ void k(int* out, const long long* a) { out[threadIdx.x] = 63 - __clzll(a[threadIdx.x]); }
// ---
__global__ void k(int* out, unsigned mask) { while (mask) { out[__ffs(mask) - 1] = 1; mask &= mask - 1; } }
// ---
__global__ void k(int* out, long long mask) { out[0] = __ffsll(mask); }
// ---
__global__ void k(unsigned* out, const unsigned* a) { out[threadIdx.x] = __brev(a[threadIdx.x]) >> 22; }
// ---
__global__ void k(unsigned long long* out) { out[threadIdx.x] = __brevll(out[threadIdx.x]); }
// ---
__device__ int bits(unsigned w) { return __popc(w); }
__global__ void k(int* out, const unsigned* a) { out[threadIdx.x] = bits(a[threadIdx.x]); }
// ---
__global__ void k(int* out, const unsigned* a) { out[threadIdx.x] = cuda::std::popcount(a[threadIdx.x]); }
// ---
__global__ void k(int* out, unsigned a) {
    int n;
    asm("popc.b32 %0, %1;" : "=r"(n) : "r"(a));
    out[threadIdx.x] = n;
}
// ---
template <typename T> __global__ void k(T* out, unsigned mask) { out[threadIdx.x] = (T)__fns(mask, 0, threadIdx.x + 1); }
