__constant__ float taps[9];
__global__ void filter(float* out, const float* inp) {
    float s = 0.0f;
    for (int k = 0; k < 9; k++) { s += taps[k] * inp[threadIdx.x + k]; }
    out[threadIdx.x] = s;
}
// ---
struct Sizes { int n; float scale; };
__global__ void filter(float* out, const float* inp, const __grid_constant__ Sizes sizes) {
    if (threadIdx.x < sizes.n) { out[threadIdx.x] = sizes.scale * inp[threadIdx.x]; }
}
// ---
__constant__ int c[4];
__global__ void k(int* y) { y[0] = c[threadIdx.x & 3]; }
// ---
static __constant__ float c[16];
__device__ float at(int i) { return c[i]; }
__global__ void k(float* y) { y[0] = at(1); }
// ---
struct P { int n; };
__global__ void k(int* y, __grid_constant__ const P p) { y[0] = p.n; }
// ---
struct P { int n; };
template <typename T> __global__ void k(T* y, const __grid_constant__ P p) { y[0] = p.n; }
// ---
__device__ __constant__ float c[2] = {1, 2};
__global__ void k(float* y) { y[0] = c[0] + c[1]; }
// ---
__constant__ double c[3][3];
__global__ void k(double* y) { y[0] = c[1][2]; }
// ---
extern __constant__ float c[8];
__global__ void k(float* y) { for (int i = 0; i < 8; i++) { y[i] = c[i]; } }
// ---
__constant__ float4 c[8];
__global__ void k(float* y) { y[0] = c[threadIdx.x].x; }
