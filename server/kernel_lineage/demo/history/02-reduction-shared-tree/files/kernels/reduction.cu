// Sum of a vector.

__global__ void reduce_sum(float* out, const float* x, int n) {
    __shared__ float partial[256];
    int tid = threadIdx.x;
    int i = blockIdx.x * blockDim.x + tid;
    partial[tid] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) {
            partial[tid] += partial[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) {
        atomicAdd(out, partial[0]);
    }
}

// `out` must be zero before the launch.
void launch_reduce_sum(float* out, const float* x, int n) {
    reduce_sum<<<(n + 255) / 256, 256>>>(out, x, n);
}
