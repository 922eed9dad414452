__device__ __forceinline__ void blur_with(float* out, const float* in, int n, int radius)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = -radius; k <= radius; k++) {
        int at = i + k;
        if (at >= 0 && at < n) sum += in[at];
    }
    out[i] = sum / (2 * radius + 1);
}

__global__ void blur(float* out, const float* in, int n, int radius) {
    if (radius == 3) {
        blur_with(out, in, n, 3);
    } else {
        blur_with(out, in, n, radius);
    }
}

void blurred(float* out, const float* in, int n) {
    const int radius = 3;
    blur<<<(n + 255) / 256, 256>>>(out, in, n, radius);
}
