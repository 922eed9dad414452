__global__ void centre(float* out, const float* inp, int C) {
    float s = 0.0f;
    for (int i = threadIdx.x; i < C; i += 32) { s += inp[blockIdx.x * C + i]; }
    for (int i = threadIdx.x; i < C; i += 32) { out[blockIdx.x * C + i] = inp[blockIdx.x * C + i] - s; }
}
// ---
__global__ void scale(float* out, const float* inp) {
    float kept[4];
    for (int k = 0; k < 4; k++) { kept[k] = inp[k * 32 + threadIdx.x]; }
    out[threadIdx.x] = kept[0] + kept[3];
}
