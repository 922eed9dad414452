__global__ void histogram(int* bins, const int* inp, int n) {
    __shared__ int mine[64];
    if (threadIdx.x < 64) { mine[threadIdx.x] = 0; }
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { atomicAdd(&mine[inp[i]], 1); }
    __syncthreads();
    if (threadIdx.x < 64) { atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]); }
}
// ---
__global__ void total(float* out, const float* inp) {
    float v = inp[blockIdx.x * 32 + threadIdx.x];
    for (int o = 16; o > 0; o /= 2) { v += __shfl_down_sync(~0u, v, o); }
    if (threadIdx.x == 0) { atomicAdd(out, v); }
}
// ---
template <int N> __global__ void k(int* y, const int* x) { __shared__ int h[N]; h[threadIdx.x] = 0; __syncthreads(); atomicAdd(&h[x[threadIdx.x]], 1); __syncthreads(); atomicAdd(&y[threadIdx.x], h[threadIdx.x]); }
// ---
__global__ void k(int* y, const int* x) { extern __shared__ int h[]; atomicAdd(h + x[threadIdx.x], 1); __syncthreads(); y[threadIdx.x] = h[threadIdx.x]; }
// ---
__global__ void k(int* y, const int* x) { __shared__ int top; atomicMax(&top, x[threadIdx.x]); __syncthreads(); y[0] = top; }
// ---
__global__ void k(float* y, const float* x, int n) { float v = x[threadIdx.x]; for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o); if (threadIdx.x % 32 == 0) atomicAdd(y, v); }
// ---
__global__ void k(float* y, const float* x, int n) { float v = cub::BlockReduce<float, 64>().Sum(x[threadIdx.x]); if (threadIdx.x == 0) { atomicAdd(&y[0], v); } }
// ---
__global__ void k(float* y, const float* x, int n) { int lane = threadIdx.x & 31; float v = x[threadIdx.x]; v += __shfl_down_sync(~0u, v, 16); if (lane == 0) { atomicMax((int*)y, __float_as_int(v)); } }
