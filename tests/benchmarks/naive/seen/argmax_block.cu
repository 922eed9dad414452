// one block of 256 threads for each row
__global__ void argmax_rows(const float* x, long long* index, int rows, int cols) {
    __shared__ float vals[256];
    __shared__ int ids[256];
    int row = blockIdx.x;
    int tid = threadIdx.x;
    float best = -1e30f;
    int at = 0;
    for (int c = tid; c < cols; c += blockDim.x) {
        float v = x[row * cols + c];
        if (v > best) { best = v; at = c; }
    }
    vals[tid] = best;
    ids[tid] = at;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            if (vals[tid + s] > vals[tid] || (vals[tid + s] == vals[tid] && ids[tid + s] < ids[tid])) {
                vals[tid] = vals[tid + s];
                ids[tid] = ids[tid + s];
            }
        }
        __syncthreads();
    }
    if (tid == 0) index[row] = ids[0];
}
void run(const float* x, long long* index, int rows, int cols) {
    argmax_rows<<<rows, 256>>>(x, index, rows, cols);
}
