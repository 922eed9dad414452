__global__ void copy(float* out, const float* inp) {
    #pragma unroll
    out[threadIdx.x] = inp[threadIdx.x];
}
// ---
__global__ void sum4(float* out, const float* inp) {
    float s = 0.0f;  // #pragma unroll
    #pragma unroll 1
    for (int k = 0; k < 4; k++) { s += inp[threadIdx.x + k * 32]; }
    out[threadIdx.x] = s;
}
