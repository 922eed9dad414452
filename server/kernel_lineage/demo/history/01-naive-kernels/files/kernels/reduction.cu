// Sum of a vector.

__global__ void reduce_sum(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(out, x[i]);
    }
}

// `out` must be zero before the launch.
void launch_reduce_sum(float* out, const float* x, int n) {
    reduce_sum<<<(n + 255) / 256, 256>>>(out, x, n);
}
