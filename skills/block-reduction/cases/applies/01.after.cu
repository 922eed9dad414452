__global__ void total(float* out, const float* x, int n) {
    __shared__ float sums[1024];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    sums[threadIdx.x] = i < n ? x[i] : 0.0f;
    for (int stride = 512; stride > 0; stride /= 2) {
        __syncthreads();
        if (threadIdx.x < stride && threadIdx.x + stride < blockDim.x) {
            sums[threadIdx.x] += sums[threadIdx.x + stride];
        }
    }
    if (threadIdx.x == 0) { atomicAdd(out, sums[0]); }
}
