__global__ void scale(float* out, const float* inp, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;  // try __ldcs(inp + i)
    if (i < n) { out[i] = 2.0f * __ldg(inp + i); }
}
