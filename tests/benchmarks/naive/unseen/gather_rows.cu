__global__ void gather(const float* src, const long long* index, float* dst, int n_index, int width) {
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    int total = n_index * width;
    if (tid < total) {
        int row = tid / width;
        int col = tid % width;
        dst[tid] = src[index[row] * width + col];
    }
}

void run(const float* src, const long long* index, float* dst, int n_index, int width) {
    int total = n_index * width;
    gather<<<(total + 255) / 256, 256>>>(src, index, dst, n_index, width);
}
