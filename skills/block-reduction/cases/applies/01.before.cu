// facts: exclusive(out) = True, launch.block.x = 256
__global__ void total(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { atomicAdd(out, x[i]); }
}
