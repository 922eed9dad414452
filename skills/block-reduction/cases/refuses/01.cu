// because: dtype(x) in (int32, uint32, float32, float64)
#include <cuda_fp16.h>
__global__ void total(__half* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { atomicAdd(out, __float2half(x[i])); }
}
