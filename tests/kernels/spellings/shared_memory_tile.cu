__global__ void k(float* y, const float* x) { __shared__ float t[256]; t[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x]; __syncthreads(); y[blockIdx.x * 256 + threadIdx.x] = t[255 - threadIdx.x]; }
// ---
__global__ void k(float* y, const float* x) { extern __shared__ float s[]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); y[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x]; }
// ---
__global__ void k(float* y, const float* x, int n) { extern __shared__ char raw[]; float* a = (float*)raw; float v = x[threadIdx.x]; a[threadIdx.x] = v; __syncthreads(); y[threadIdx.x] = a[n - 1 - threadIdx.x]; }
// ---
__device__ void fill(float* t, const float* x) { t[threadIdx.x] = x[threadIdx.x]; }
__global__ void k(float* y, const float* x) { __shared__ float t[64]; fill(t, x); __syncthreads(); y[threadIdx.x] = t[63 - threadIdx.x]; }
// ---
__global__ void k(float* y, const float* x) { __shared__ float4 t[64]; t[threadIdx.x] = ((const float4*)x)[threadIdx.x]; __syncthreads(); y[threadIdx.x] = t[63 - threadIdx.x].x; }
// ---
__global__ void k(float* y, const float* x, int n) { __shared__ float t[16][16]; for (int r = threadIdx.y; r < 16; r += 4) { t[r][threadIdx.x] = x[r * n + threadIdx.x]; } __syncthreads(); y[threadIdx.x] = t[threadIdx.x][0]; }
// ---
__global__ void k(float* y, const float* x) { __shared__ float t[128]; cuda::memcpy_async(&t[threadIdx.x], &x[threadIdx.x], 4, cuda::thread_scope_block); __syncthreads(); y[threadIdx.x] = t[127 - threadIdx.x]; }
// ---
__global__ void k(float* y, const float* x) { __shared__ float t[128]; t[threadIdx.x] = __ldg(&x[threadIdx.x]); __syncthreads(); y[threadIdx.x] = t[127 - threadIdx.x]; }
