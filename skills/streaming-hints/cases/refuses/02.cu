// because: no anchor
// The row is walked twice: what the first pass leaves in the cache, the second one wants there.
__global__ void centre(float* x, int C) {
    float* row = x + blockIdx.x * C;
    float sum = 0.0f;
    for (int i = 0; i < C; i++) { sum += row[i]; }
    for (int i = threadIdx.x; i < C; i += blockDim.x) { row[i] -= sum / C; }
}
