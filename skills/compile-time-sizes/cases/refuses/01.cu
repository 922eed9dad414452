// because: no anchor
__global__ void blur(float* out, const float* in, int n, int radius) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = -radius; k <= radius; k++) {
        int at = i + k;
        if (at >= 0 && at < n) sum += in[at];
    }
    out[i] = sum / (2 * radius + 1);
}
