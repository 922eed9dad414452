__global__ void clamp_(float* x, float lo, float hi, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        if (v < lo) v = lo;
        if (v > hi) v = hi;
        x[i] = v;
    }
}

void clamp(float* x, float lo, float hi, int n) {
    clamp_<<<(n + 127) / 128, 128>>>(x, lo, hi, n);
}
