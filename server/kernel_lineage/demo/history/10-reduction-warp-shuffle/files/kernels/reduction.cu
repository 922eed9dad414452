// Sum of a vector.

__device__ float warp_sum(float v) {
    for (int offset = 16; offset > 0; offset /= 2) {
        v += __shfl_down_sync(0xffffffff, v, offset);
    }
    return v;
}

__global__ void reduce_sum(float* out, const float* x, int n) {
    __shared__ float partial[8];
    int tid = threadIdx.x;
    int i = blockIdx.x * blockDim.x + tid;
    float sum = warp_sum(i < n ? x[i] : 0.0f);
    if (tid % 32 == 0) {
        partial[tid / 32] = sum;
    }
    if (tid < 32) {
        sum = warp_sum(tid < blockDim.x / 32 ? partial[tid] : 0.0f);
        if (tid == 0) {
            atomicAdd(out, sum);
        }
    }
}

// `out` must be zero before the launch.
void launch_reduce_sum(float* out, const float* x, int n) {
    reduce_sum<<<(n + 255) / 256, 256>>>(out, x, n);
}
