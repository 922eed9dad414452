// facts: align(x) = 4, align(out) = 4
// because: align(x) >= 16
__global__ void scale_rows(float* out, const float* x, float factor, int C) {
    const float* row = x + blockIdx.x * C;
    float* out_row = out + blockIdx.x * C;
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        out_row[i] = factor * row[i];
    }
}
