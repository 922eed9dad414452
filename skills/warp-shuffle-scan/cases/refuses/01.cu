// facts: launch.block.x = 64, launch.block.y = 4, launch.block.z = 1, toolchain.cuda = (13, 0)
// because: launch.block.y == 1 and launch.block.z == 1
__global__ void prefix_sums(float* out, const float* x) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t];
    for (int d = 1; d < 64; d *= 2) {
        __syncthreads();
        float below = t >= d ? s[t - d] : 0.0f;
        __syncthreads();
        s[t] += below;
    }
    out[blockIdx.x * 64 + t] = s[t];
}
