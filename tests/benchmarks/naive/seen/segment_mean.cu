// y[s] = mean of x[begin[s] .. begin[s + 1])
__global__ void k_segment_mean(const int* begin, const float* x, float* y, int segments) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s < segments) {
        int lo = begin[s];
        int hi = begin[s + 1];
        float total = 0;
        for (int i = lo; i < hi; i++)
            total += x[i];
        y[s] = hi > lo ? total / (hi - lo) : 0;
    }
}

void segment_mean(const int* begin, const float* x, float* y, int segments) {
    k_segment_mean<<<(segments + 255) / 256, 256>>>(begin, x, y, segments);
}
