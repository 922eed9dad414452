#include <cuda_fp16.h>
#include <cstdint>

__device__ __forceinline__ float sigmoid(float v) { return 1.0f / (1.0f + expf(-v)); }
__device__ __half gelu_of(__half h)
{
    const float v = __half2float(h);
    return __float2half(v * sigmoid(1.702f * v));
}

__global__ void quick_gelu(const __half* __restrict__ in, __half* __restrict__ out, int64_t numel)
{
    const int64_t tid = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (!(tid < numel)) {
        return;
    }
    out[tid] = gelu_of(in[tid]);
}

void quick_gelu_forward(const __half* in, __half* out, int64_t numel, cudaStream_t stream)
{
    const int threads = 128;
    const int64_t blocks = (numel + threads - 1) / threads;
    quick_gelu<<<blocks, threads, 0, stream>>>(in, out, numel);
}
