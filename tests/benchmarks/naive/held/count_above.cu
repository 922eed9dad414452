__global__ void count_above(int* hits, const float* values, float limit, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (values[i] > limit) {
        atomicAdd(hits, 1);
    }
}

void run(int* hits, const float* values, float limit, int n) {
    count_above<<<(n + 127) / 128, 128>>>(hits, values, limit, n);
}
