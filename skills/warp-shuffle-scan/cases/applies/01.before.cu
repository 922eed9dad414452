// facts: launch.block.x = 256, launch.block.y = 1, launch.block.z = 1, toolchain.cuda = (13, 0)
__global__ void prefix_sums(float* out, const float* x, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        float below = t >= d ? s[t - d] : 0.0f;
        __syncthreads();
        s[t] += below;
        __syncthreads();
    }
    if (i < n) out[i] = s[t];
}
