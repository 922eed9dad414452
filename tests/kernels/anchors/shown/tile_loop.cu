__global__ void product(float* out, const float* a, const float* b, int n) {
    __shared__ float left[16][16], right[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    float s = 0.0f;
    for (int t = 0; t < n; t += 16) {
        left[ty][tx] = a[(blockIdx.y * 16 + ty) * n + t + tx];
        right[ty][tx] = b[(t + ty) * n + blockIdx.x * 16 + tx];
        __syncthreads();
        for (int k = 0; k < 16; k++) { s += left[ty][k] * right[k][tx]; }
        __syncthreads();
    }
    out[(blockIdx.y * 16 + ty) * n + blockIdx.x * 16 + tx] = s;
}
// ---
__global__ void blend(float* out, const float* x, int n) {
    __shared__ float part[128];
    float s = 0.0f;
    for (int t = threadIdx.x; t < n; t += 128) {
        part[threadIdx.x] = x[t];
        __syncthreads();
        s += part[127 - threadIdx.x];
        __syncthreads();
    }
    out[threadIdx.x] = s;
}
