__global__ void add(float* __restrict__ out, const float* __restrict__ inp, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] += inp[i]; }
}
// ---
__global__ void add(float* out, const float* inp, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] += __ldg(&inp[i]); }
}
// ---
__global__ void k(float* __restrict__ y, const float* x) { y[0] = x[0]; }
// ---
__global__ void k(float* y, float const* __restrict__ x) { y[0] = x[0]; }
// ---
#define RESTRICT __restrict__
__global__ void k(float* __restrict y, const float* __restrict x) { y[0] = x[0]; }
// ---
__global__ void k(float* y, const float* x) { y[0] = __ldg(x); }
// ---
__global__ void k(float* y, const float* x) { y[0] = __ldg(&x[threadIdx.x]); }
// ---
__device__ float get(const float* p) { return __ldg(p); }
__global__ void k(float* y, const float* x) { y[0] = get(x); }
// ---
__global__ void k(float* y, const float* x) { float v; asm("ld.global.nc.f32 %0, [%1];" : "=f"(v) : "l"(x)); y[0] = v; }
// ---
template <typename T> __global__ void k(T* __restrict__ y, const T* __restrict__ x) { y[0] = x[0]; }
// ---
__global__ void k(float4* y, const float* x) { y[0] = __ldg((const float4*)x); }
