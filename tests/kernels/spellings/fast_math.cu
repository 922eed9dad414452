__global__ void soft(float* out, const float* inp) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = __expf(inp[i]);
}
// ---
__device__ float inverse_norm(float v) { return rsqrtf(v + 1e-5f); }
__global__ void norm(float* out, const float* inp) { out[threadIdx.x] = inverse_norm(inp[threadIdx.x]); }
// ---
__global__ void k(float* y) { y[0] = __expf(y[0]); }
// ---
__global__ void k(float* y) { y[0] = __fdividef(y[0], 3.0f); }
// ---
__global__ void k(float* y) { y[0] = rsqrtf(y[0]); }
// ---
__global__ void k(float* y) { y[0] = exp2f(y[0] * 1.4426950408889634f); }
// ---
__global__ void k(half* y) { y[0] = hexp(y[0]); }
// ---
__global__ void k(float* y) { float v; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(v) : "f"(y[0])); y[0] = v; }
// ---
__device__ float quick(float x) { float v; asm("tanh.approx.f32 %0, %1;" : "=f"(v) : "f"(x)); return v; }
__global__ void k(float* y) { y[0] = quick(y[0]); }
// ---
__global__ void k(float* y) { float s, c; __sincosf(y[0], &s, &c); y[0] = s; }
