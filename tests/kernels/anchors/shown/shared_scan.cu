__global__ void scan(float* out, const float* inp) {
    __shared__ float row[256];
    row[threadIdx.x] = inp[threadIdx.x];
    for (int s = 1; s < 256; s *= 2) {
        __syncthreads();
        float v = threadIdx.x >= s ? row[threadIdx.x - s] : 0.0f;
        __syncthreads();
        row[threadIdx.x] += v;
    }
    out[threadIdx.x] = row[threadIdx.x];
}
// ---
__global__ void prefix(int* out, const int* in, int n) {
    extern __shared__ int temp[];
    int t = threadIdx.x, to = 0, from = 1;
    temp[t] = t > 0 ? in[t - 1] : 0;
    __syncthreads();
    for (int offset = 1; offset < n; offset <<= 1) {
        to = 1 - to;
        from = 1 - to;
        temp[to * n + t] = t < offset ? temp[from * n + t] : temp[from * n + t] + temp[from * n + t - offset];
        __syncthreads();
    }
    out[t] = temp[to * n + t];
}
