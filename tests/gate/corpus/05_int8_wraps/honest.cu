__global__ void quantise(signed char *q, const float *x, float scale, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float r = rintf(x[i] * scale);
    int k = !(r <= 127.0f) && r > 0.0f ? 127 : !(r >= -128.0f) ? -128 : (int)r;
    q[i] = (signed char)k;
}
