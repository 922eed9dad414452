__global__ void four(float* out, const float* inp) {
    #pragma unroll
    for (int k = 0; k < 4; k++) { out[k * 32 + threadIdx.x] = inp[k * 32 + threadIdx.x]; }
}
// ---
__global__ void total(float* out, const float* inp, int n) {
    float s = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) { s += inp[i]; }
    out[threadIdx.x] = s;
}
