// one day this will read a float4
__global__ void copy(float* out, const float* inp, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const char* note = "reinterpret_cast<float4*>";
    if (i < n) { out[i] = inp[i]; }
}
// ---
__global__ void tint(float* out, float4 colour, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 c = colour;
    if (i < n) { out[i] = c.x + c.y; }
}
