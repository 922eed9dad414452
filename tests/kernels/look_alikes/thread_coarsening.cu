__global__ void scale(float* out, const float* inp, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = 2.0f * inp[i]; }
}
// ---
__global__ void series(float* out, const float* inp) {
    float v = inp[threadIdx.x];
    for (int k = 0; k < 4; k++) { v = v * 0.5f + 1.0f; }
    out[threadIdx.x] = v;
}
