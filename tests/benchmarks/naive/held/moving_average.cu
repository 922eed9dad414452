__global__ void ema(float* averaged, const float* current, float decay, long n) {
    long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) averaged[i] = decay * averaged[i] + (1.0f - decay) * current[i];
}

void run(float* averaged, const float* current, float decay, long n) {
    ema<<<(n + 511) / 512, 512>>>(averaged, current, decay, n);
}
