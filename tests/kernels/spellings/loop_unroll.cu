__global__ void sum4(float* out, const float* inp) {
    float s = 0.0f;
    #pragma unroll
    for (int k = 0; k < 4; k++) { s += inp[threadIdx.x + k * 32]; }
    out[threadIdx.x] = s;
}
// ---
__global__ void k(float* y) {
    #pragma unroll 4
    for (int i = 0; i < 16; i++) { y[i] = 0; }
}
// ---
#define REPEAT _Pragma("unroll")
__global__ void k(float* y) {
    REPEAT for (int i = 0; i < 16; i++) { y[i] = 0; }
}
// ---
__global__ void k(float* y) {
    _Pragma("unroll 8")
    for (int i = 0; i < 16; i++) { y[i] = 0; }
}
// ---
__global__ void k(float* y) {
    #pragma unroll(2)
    for (int i = 0; i < 16; i++) { y[i] = 0; }
}
// ---
template <int N> __global__ void k(float* y) {
    #pragma unroll N
    for (int i = 0; i < 16; i++) { y[i] = 0; }
}
// ---
__global__ void k(float* y) {
    CUTE_UNROLL
    for (int i = 0; i < 16; i++) { y[i] = 0; }
}
// ---
__device__ void all(float* y) {
    #pragma unroll
    for (int i = 0; i < 16; i++) { y[i] = 0; }
}
__global__ void k(float* y) { all(y); }
// ---
__global__ void k(float* y) {
    int i = 0;
    #pragma unroll
    while (i < 8) { y[i++] = 0; }
}
