__global__ void quantise(signed char *q, const float *x, float scale, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float r = rintf(x[i] * scale);
    q[i] = (signed char)(int)r;
}
