// because: no anchor
// An inclusive scan combines over growing distances: every step is needed by every thread.
__global__ void scan_row(float* out, const float* x) {
    __shared__ float row[256];
    int tid = threadIdx.x;
    row[tid] = x[tid];
    __syncthreads();
    for (int s = 1; s < 256; s *= 2) {
        float left = tid >= s ? row[tid - s] : 0.0f;
        __syncthreads();
        row[tid] += left;
        __syncthreads();
    }
    out[tid] = row[tid];
}
