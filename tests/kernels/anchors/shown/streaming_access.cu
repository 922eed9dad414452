__global__ void scale(float* out, const float* inp, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = 2.0f * inp[i]; }
}
// ---
__global__ void split(float* a, float* b, const float* inp, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = inp[i];
    b[i] = inp[i + n];
}
