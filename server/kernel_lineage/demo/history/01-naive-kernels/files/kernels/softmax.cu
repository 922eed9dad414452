// Softmax over the rows of x (N, C). Each version stays here under its number.

// version 1: one thread per row
__global__ void softmax_forward1(float* out, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) return;
    const float* xr = x + row * C;
    float* yr = out + row * C;
    float maxval = -INFINITY;
    for (int i = 0; i < C; i++) {
        maxval = fmaxf(maxval, xr[i]);
    }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) {
        yr[i] = expf(xr[i] - maxval);
        sum += yr[i];
    }
    for (int i = 0; i < C; i++) {
        yr[i] /= sum;
    }
}

void launch_softmax_forward1(float* out, const float* x, int N, int C) {
    softmax_forward1<<<(N + 127) / 128, 128>>>(out, x, N, C);
}
