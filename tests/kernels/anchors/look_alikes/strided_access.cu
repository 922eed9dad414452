__global__ void copy(float* out, const float* inp, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    out[y * n + x] = inp[y * n + x];
}
// ---
__global__ void pack(float* out, const float* inp) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    *reinterpret_cast<float4*>(&out[i]) = *reinterpret_cast<const float4*>(&inp[i]);
}
