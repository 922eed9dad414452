__global__ void scale(float* out, const float* inp, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { __stcs(out + i, 2.0f * __ldcs(inp + i)); }
}
// ---
__global__ void k(float* y, const float* x) { y[threadIdx.x] = __ldcs(x + threadIdx.x); }
// ---
__global__ void k(float* y, const float* x) { __stcs(y + threadIdx.x, x[threadIdx.x]); }
// ---
__global__ void k(float* y, const float* x) { y[threadIdx.x] = __ldcg(&x[threadIdx.x]); }
// ---
__global__ void k(float* y, const float* x) { float v; asm volatile("ld.global.cs.f32 %0, [%1];" : "=f"(v) : "l"(x)); y[0] = v; }
// ---
__global__ void k(float* y, const float* x) { float v; asm("ld.global.nc.L1::no_allocate.L2::128B.f32 %0, [%1];" : "=f"(v) : "l"(x)); y[0] = v; }
// ---
__global__ void k(float* y, const float* x) { asm volatile("prefetch.global.L2 [%0];" :: "l"(x)); y[0] = x[0]; }
// ---
__device__ void put(float* to, float v) { asm volatile("st.global.wt.f32 [%0], %1;" :: "l"(to), "f"(v)); }
__global__ void k(float* y) { put(y, 1.0f); }
