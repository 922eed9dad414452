__global__ void dot_product(const float* a, const float* b, float* result, int n) {
    float own_sum = 0.0f;
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long element = blockIdx.x * blockDim.x + threadIdx.x; element < n; element += stride) {
        int i = (int)element;
        float p = a[i] * b[i];
        own_sum += p;
    }
    __shared__ float warp_sums[32];
    for (int offset = 16; offset > 0; offset /= 2) {
        own_sum += __shfl_down_sync(0xffffffffu, own_sum, offset);
    }
    if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = own_sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        own_sum = threadIdx.x < blockDim.x / 32 ? warp_sums[threadIdx.x] : 0.0f;
        for (int offset = 16; offset > 0; offset /= 2) {
            own_sum += __shfl_down_sync(0xffffffffu, own_sum, offset);
        }
        if (threadIdx.x == 0) atomicAdd(&result[0], own_sum);
    }
}
