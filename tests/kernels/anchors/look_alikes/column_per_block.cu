__global__ void rows(float* out, const float* inp, int N, int C) {
    float s = 0.0f;
    for (int i = threadIdx.x; i < C; i += blockDim.x) { s += inp[blockIdx.x * C + i]; }
    atomicAdd(&out[blockIdx.x], s);
}
// ---
__global__ void column_of_thread(float* out, const float* inp, int N, int C) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col < C) {
        float s = 0.0f;
        for (int i = 0; i < N; i++) { s += inp[i * C + col]; }
        out[col] = s;
    }
}
