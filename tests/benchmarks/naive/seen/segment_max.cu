#include <cfloat>

// rows of a CSR-like ragged batch: values[starts[s]] .. values[starts[s + 1] - 1] belong to segment s
__global__ void seg_max(const float* values, const int* starts, float* best, int n_segments)
{
    const unsigned int seg = blockIdx.x * blockDim.x + threadIdx.x;
    if (seg >= n_segments) return;
    const int lo = starts[seg], hi = starts[seg + 1];
    float m = -FLT_MAX;
    int j = lo;
    while (j < hi) {
        m = max(m, values[j]);
        ++j;
    }
    best[seg] = m;
}

void launch_seg_max(const float* values, const int* starts, float* best, int n_segments)
{
    seg_max<<<(n_segments + 127) / 128, 128>>>(values, starts, best, n_segments);
}
