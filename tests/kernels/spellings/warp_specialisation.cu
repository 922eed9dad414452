template <int N> __device__ void take() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(N)); }
__global__ void pipeline(float* out, const float* inp) {
    __shared__ float tile[128];
    if (threadIdx.x < 128) { tile[threadIdx.x] = inp[threadIdx.x]; asm volatile("bar.arrive 1, 256;"); }
    else {
        take<232>();
        asm volatile("bar.sync 1, 256;");
        out[threadIdx.x - 128] = tile[threadIdx.x - 128];
    }
}
// ---
__global__ void pipeline(float* out, const float* inp) {
    if (threadIdx.x < 128) { cutlass::arch::warpgroup_reg_dealloc<40>(); }
    else { cutlass::arch::warpgroup_reg_alloc<232>(); }
    out[threadIdx.x] = inp[threadIdx.x];
}
// ---
__global__ void k(float* y) { asm volatile("setmaxnreg.dec.sync.aligned.u32 40;"); y[0] = 0; }
// ---
__global__ void k(float* y) { cutlass::arch::warpgroup_reg_alloc<232>(); y[0] = 0; }
// ---
__global__ void k(float* y) { cutlass::arch::warpgroup_reg_dealloc<24>(); y[0] = 0; }
// ---
__device__ void arrive(int b) { asm volatile("bar.arrive %0, 128;" :: "r"(b)); }
__global__ void k(float* y) { arrive(1); y[0] = 0; }
// ---
__global__ void k(float* y) { asm volatile("barrier.arrive 2, 64;"); y[0] = 0; }
