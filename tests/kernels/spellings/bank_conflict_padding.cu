__global__ void turn(float* out, const float* inp, int n) {
    __shared__ float tile[32][32 + 1];
    tile[threadIdx.y][threadIdx.x] = inp[threadIdx.y * n + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
// ---
__global__ void turn(float* out, const float* inp, int n) {
    __shared__ float tile[32][32];
    tile[threadIdx.y][threadIdx.x ^ threadIdx.y] = inp[threadIdx.y * n + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y ^ threadIdx.x];
}
// ---
__global__ void k(float* y, const float* x) { __shared__ float t[32][33]; t[threadIdx.y][threadIdx.x] = x[threadIdx.x]; __syncthreads(); y[threadIdx.x] = t[threadIdx.x][threadIdx.y]; }
// ---
#define PAD 1
__global__ void k(float* y, const float* x) { __shared__ float t[16][64 + PAD]; t[threadIdx.y][threadIdx.x] = x[threadIdx.x]; __syncthreads(); y[threadIdx.x] = t[threadIdx.x][threadIdx.y]; }
// ---
constexpr int W = 32, SKEW = 8;
__global__ void k(half* y, const half* x) { __shared__ half t[32][W + SKEW]; t[threadIdx.y][threadIdx.x] = x[threadIdx.x]; __syncthreads(); y[threadIdx.x] = t[threadIdx.x][threadIdx.y]; }
// ---
__global__ void k(float* y, const float* x) { __shared__ float t[32 * 33]; t[threadIdx.y * 33 + threadIdx.x] = x[threadIdx.x]; __syncthreads(); y[threadIdx.x] = t[threadIdx.x * 33 + threadIdx.y]; }
// ---
template <int BN> __global__ void k(float* y, const float* x) { __shared__ float t[8 * (BN + 4)]; t[threadIdx.y * (BN + 4) + threadIdx.x] = x[threadIdx.x]; __syncthreads(); y[threadIdx.x] = t[threadIdx.x * (BN + 4)]; }
// ---
template <int C> constexpr int pitch() { return C % 2 == 0 ? C + 1 : C; }
template <int C> __global__ void k(float* y, const float* x) { extern __shared__ float t[]; t[threadIdx.y * pitch<C>() + threadIdx.x] = x[threadIdx.x]; __syncthreads(); y[threadIdx.x] = t[threadIdx.x * pitch<C>()]; }
// ---
__global__ void k(float* y, const float* x) { __shared__ float t[1024]; int at = threadIdx.y * 32 + (threadIdx.x ^ threadIdx.y); t[at] = x[threadIdx.x]; __syncthreads(); y[threadIdx.x] = t[threadIdx.x]; }
// ---
__global__ void k(float* y, const float* x) { __shared__ float t[32][32]; int c = threadIdx.x ^ (threadIdx.y & 7); t[threadIdx.y][c] = x[threadIdx.x]; __syncthreads(); y[threadIdx.x] = t[threadIdx.x][c]; }
// ---
__global__ void k(half* y, const half* x) { using L = decltype(cute::composition(cute::Swizzle<3, 3, 3>{}, cute::Layout<cute::Shape<cute::_8, cute::_64>>{})); y[threadIdx.x] = x[threadIdx.x]; }
// ---
#define WIDTH 32
constexpr int PITCH = WIDTH + 1;
__global__ void k(float* y, const float* x) { __shared__ float t[8][PITCH]; t[threadIdx.y][threadIdx.x] = x[threadIdx.x]; __syncthreads(); y[threadIdx.x] = t[threadIdx.x][threadIdx.y]; }
