__global__ void total(float* out, const float* inp, int N, int C) {
    __shared__ float parts[256];
    float s = 0.0f;
    for (int i = threadIdx.x; i < N; i += blockDim.x) { s += inp[i * C + blockIdx.x]; }
    parts[threadIdx.x] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < blockDim.x; i++) s += parts[i];
        out[blockIdx.x] = s;
    }
}
// ---
__global__ void scaled(float* y, const float* x, const float* scale, int rows, int features) {
    const int f = blockIdx.x, first = threadIdx.x;
    const float* column = x + f;
    for (int r = first; r < rows; r += 128) y[(long)r * features + f] = column[(long)r * features] * scale[f];
}
