// because: no anchor
// The bound is a size of the data and the loop stands alone: the compiler unrolls such loops as it sees fit.
__global__ void total(float* out, const float* x, int n) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) { sum += x[i]; }
    out[threadIdx.x] = sum;
}
