__global__ void cube(float* out, const float* inp, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { float x = inp[i]; out[i] = x * x * x; }
}
// ---
__global__ void difference(float* out, const float* inp, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n) { out[i] = inp[i + 1] - inp[i]; }
}
