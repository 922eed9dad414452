__global__ void count(int* total, const float* inp, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && inp[i] > 0.0f) { atomicAdd(total, 1); }
}
// ---
__global__ void k(float* y, const float* x) { atomicAdd(y, x[threadIdx.x]); }
// ---
__global__ void k(int* y, const int* x) { atomicMax(&y[x[threadIdx.x]], threadIdx.x); }
// ---
__global__ void k(unsigned* y) { atomicCAS(y, 0u, 1u); }
// ---
__global__ void k(float* y, const float* x) { gpuAtomicAdd(y + threadIdx.x % 7, x[threadIdx.x]); }
// ---
__global__ void k(int* y) { cuda::atomic_ref<int, cuda::thread_scope_device> r(*y); r.fetch_add(1, cuda::memory_order_relaxed); }
// ---
__global__ void k(float* y) { asm volatile("red.global.add.f32 [%0], %1;" :: "l"(y), "f"(1.0f)); }
// ---
__device__ void put(float* to, float v) { atomicAdd(to, v); }
__global__ void k(float* y, const float* x) { put(y, x[threadIdx.x]); }
