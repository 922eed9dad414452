__global__ void sqnorm(const float* v, unsigned int count, float* norm) {
    unsigned int t = threadIdx.x + blockIdx.x * blockDim.x;
    if (t < count) {
        float x = v[t];
        atomicAdd(norm, x * x);
    }
}

void run(const float* v, unsigned int count, float* norm) {
    const int threads = 256;
    const int blocks = (count + threads - 1) / threads;
    sqnorm<<<blocks, threads>>>(v, count, norm);
}
