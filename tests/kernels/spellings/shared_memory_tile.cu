__global__ void transpose(float* out, const float* inp, int n) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = inp[y * n + x];
    __syncthreads();
    int column = blockIdx.y * 32 + threadIdx.x, row = blockIdx.x * 32 + threadIdx.y;
    out[row * n + column] = tile[threadIdx.x][threadIdx.y];
}
// ---
__global__ void blur(float* out, const float* inp, int n) {
    extern __shared__ float row[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = inp[i];
    row[threadIdx.x] = v;
    __syncthreads();
    if (threadIdx.x > 0) { out[i] = 0.5f * (row[threadIdx.x] + row[threadIdx.x - 1]); }
}
// ---
__device__ void fetch(const float* from, float* to, int at) {
    const float4 v = reinterpret_cast<const float4*>(&from[4 * at])[0];
    to[at] = v.x;
    to[at + 64] = v.y;
    to[at + 128] = v.z;
    to[at + 192] = v.w;
}
__global__ void turn(float* out, const float* inp) {
    __shared__ float tile[256];
    fetch(inp + blockIdx.x * 256, tile, threadIdx.x);
    __syncthreads();
    out[blockIdx.x * 256 + threadIdx.x] = tile[255 - threadIdx.x];
}
// ---
__global__ void ahead(float* out, const float* inp, int n) {
    __shared__ float row[64];
    auto block = cooperative_groups::this_thread_block();
    cooperative_groups::memcpy_async(block, row, inp + blockIdx.x * 64, sizeof(row));
    cooperative_groups::wait(block);
    out[blockIdx.x * 64 + threadIdx.x] = row[63 - threadIdx.x];
}
// ---
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
