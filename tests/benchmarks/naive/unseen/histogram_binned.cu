__global__ void histo(const int* values, int* counts, int n, int num_bins) {
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        int b = values[i];
        if (b >= 0 && b < num_bins) {
            atomicAdd(counts + b, 1);
        }
    }
}

void run(const int* values, int* counts, int n, int num_bins) {
    histo<<<1024, 256>>>(values, counts, n, num_bins);
}
