__global__ void scale(half* out, const half* inp, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = __float2half(a * __half2float(inp[i])); }
}
// ---
template <typename T>
__global__ void total(float* out, const T* inp, int n) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) { sum += (float)inp[i]; }
    out[threadIdx.x] = sum;
}
// ---
__global__ void k(half* y) { y[0] = __float2half(2.0f * __half2float(y[1])); }
// ---
__global__ void k(__nv_bfloat16* y) { y[0] = __float2bfloat16(1.0f); }
// ---
__global__ void k(half* y) { float2 f = __half22float2(*(half2*)y); y[0] = f.x; }
// ---
template <typename T> __global__ void k(float* y, const T* x) { y[0] = (float)x[0]; }
// ---
template <typename T> __global__ void k(float* y, const T* x) { y[0] = static_cast<float>(x[threadIdx.x]); }
// ---
template <typename T> __global__ void k(float* y, const T* x) { T v = x[0]; y[0] = float(v); }
// ---
__global__ void k(float* y, const float* x, int n) { double s = 0; for (int i = 0; i < n; i++) { s += x[i]; } y[0] = s; }
// ---
template <typename scalar_t> __global__ void k(float* y, const scalar_t* x) { using acc = at::opmath_type<scalar_t>; y[0] = static_cast<acc>(x[0]); }
// ---
#if defined(IN_HALVES)
typedef half element;
#else
typedef float element;
#endif
__global__ void k(float* y, const element* x) { float v = (float)x[0]; y[0] = v; }
