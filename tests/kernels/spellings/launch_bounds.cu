__global__ void __launch_bounds__(256) fill(float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = 1.0f; }
}
// ---
template <typename T>
__global__ void __launch_bounds__(128, 4) fill(T* out) { out[blockIdx.x * 128 + threadIdx.x] = T(1); }
// ---
__global__ __launch_bounds__(256) void k(float* y) { y[0] = 0; }
// ---
static __global__ void __launch_bounds__(96) k(float* y) { y[0] = 0; }
// ---
__global__ void __launch_bounds__(256, 2) k(float* y) { y[0] = 0; }
// ---
__global__ void __launch_bounds__(256, 2, 1) k(float* y) { y[0] = 0; }
// ---
constexpr int T = 128;
__global__ void __launch_bounds__(T) k(float* y) { y[0] = 0; }
// ---
template <int T> __global__ void __launch_bounds__(T, 1024 / T) k(float* y) { y[0] = 0; }
// ---
#define BLOCK 64
extern "C" __global__ void __launch_bounds__(BLOCK) k(float* y) { y[0] = 0; }
// ---
__global__ void __maxnreg__(64) k(float* y) { y[0] = 0; }
// ---
struct Traits { static constexpr int kThreads = 128; };
template <typename Tr> __global__ __launch_bounds__(Tr::kThreads) void k(float* y) { y[0] = 0; }
