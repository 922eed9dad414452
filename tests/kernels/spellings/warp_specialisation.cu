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
