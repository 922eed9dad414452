// facts: launch.block.x = 256, launch.block.y = 1, launch.block.z = 1
__global__ void dot_product(const float* a, const float* b, float* result, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float p = a[i] * b[i];
    atomicAdd(&result[0], p);
}
