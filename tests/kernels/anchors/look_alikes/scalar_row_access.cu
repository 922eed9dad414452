__global__ void scale(float* out, const float* inp, float a, int n4) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n4) {
        float4 v = reinterpret_cast<const float4*>(inp)[i];
        v.x *= a;
        reinterpret_cast<float4*>(out)[i] = v;
    }
}
// ---
__global__ void scale_rows(float* out, const float* inp, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N) { for (int c = 0; c < C; c++) { out[row * C + c] = 2.0f * inp[row * C + c]; } }
}
// ---
__global__ void scale(float4* out, const float4* inp, int n4) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n4) { out[i] = inp[i]; }
}
// ---
__global__ void even(float* even, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { even[3 * i] = x[2 * i]; }
}
