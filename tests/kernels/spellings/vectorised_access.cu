__global__ void scale(float* out, const float* inp, float a, int n4) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n4) {
        float4 v = reinterpret_cast<const float4*>(inp)[i];
        v.x *= a; v.y *= a; v.z *= a; v.w *= a;
        reinterpret_cast<float4*>(out)[i] = v;
    }
}
// ---
typedef float4 quad;
__global__ void copy(float* out, const float* inp) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    *(quad*)(out + 4 * i) = *(const quad*)(inp + 4 * i);
}
// ---
struct alignas(16) Eight {
    half e[8];
    __device__ half& operator[](int k) { return e[k]; }
};
__device__ Eight fetch(const half* p) { return *reinterpret_cast<const Eight*>(p); }
__global__ void negate(half* out, const half* inp) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    Eight v = fetch(inp + i);
    for (int k = 0; k < 8; k++) { v[k] = -v[k]; }
    *(Eight*)(out + i) = v;
}
// ---
__global__ void k(float* y, const float* x) { float4 v = ((const float4*)x)[threadIdx.x]; ((float4*)y)[threadIdx.x] = v; }
// ---
__global__ void k(int* y, const int* x) { *reinterpret_cast<int4*>(&y[threadIdx.x * 4]) = *reinterpret_cast<const int4*>(&x[threadIdx.x * 4]); }
// ---
__global__ void k(uint4* y, const uint4* __restrict__ x) { y[threadIdx.x] = x[threadIdx.x]; }
// ---
#include <cuda_fp16.h>
__global__ void k(half* y, const half* x) { half2 v = *(half2*)(x + 2 * threadIdx.x); *(half2*)(y + 2 * threadIdx.x) = __hadd2(v, v); }
// ---
__global__ void k(__nv_bfloat16* y, const __nv_bfloat16* x) { auto p = reinterpret_cast<const __nv_bfloat162*>(x); y[threadIdx.x] = p[threadIdx.x].x; }
// ---
template <typename T, int N> struct alignas(sizeof(T) * N) Row { T e[N]; };
__global__ void k(float* y, const float* x) { Row<float, 4> r = *reinterpret_cast<const Row<float, 4>*>(x + 4 * threadIdx.x); y[threadIdx.x] = r.e[0] + r.e[3]; }
// ---
struct __align__(16) Quad { float a, b, c, d; };
__global__ void k(float* y, const Quad* x) { y[threadIdx.x] = x[threadIdx.x].a + x[threadIdx.x].d; }
// ---
__global__ void k(float* y, const float* x) { float4 v = __ldg((const float4*)x + threadIdx.x); y[threadIdx.x] = v.x + v.w; }
// ---
__global__ void k(float* y, const float* x) {
    float a, b, c, d;
    asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(x + 4 * threadIdx.x));
    y[threadIdx.x] = a + b + c + d;
}
// ---
__global__ void k(float* y, const float* x) { float v[4]; memcpy(v, x + 4 * threadIdx.x, 16); y[threadIdx.x] = v[0] + v[3]; }
// ---
using Wide = uint2;
template <typename T> struct Carrier { using type = Wide; };
__device__ void move(float* to, const float* from) { *(Wide*)to = *(const Wide*)from; }
__global__ void k(float* y, const float* x) { move(y + 2 * threadIdx.x, x + 2 * threadIdx.x); }
// ---
__global__ void k(float* y, const float* x) { auto& v = reinterpret_cast<const at::native::memory::aligned_vector<float, 4>*>(x)[threadIdx.x]; y[threadIdx.x] = v.val[0]; }
// ---
template <typename T, int N> __global__ void k(T* y, const T* x) { struct alignas(N * sizeof(T)) U { T held[N]; }; U v = *reinterpret_cast<const U*>(x + N * threadIdx.x); *reinterpret_cast<U*>(y + N * threadIdx.x) = v; }
