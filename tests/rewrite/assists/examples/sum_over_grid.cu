// --- dot_product applies
__global__ void dot_product(const float* a, const float* b, float* result, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float p = a[i] * b[i];
    atomicAdd(&result[0], p);
}

void launch(const float* a, const float* b, float* result, int n) {
    dot_product<<<(n + 255) / 256, 256>>>(a, b, result, n);
}
// --- dot_product becomes
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

void launch(const float* a, const float* b, float* result, int n) {
    dot_product<<<(((n + 255) / 256) + 15) / 16, 256>>>(a, b, result, n);
}
// --- dot_product refuses: one atomic addition
__global__ void dot_product(const float* a, const float* b, float* result, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float p = a[i] * b[i];
    atomicAdd(&result[i % 8], p);
}

void launch(const float* a, const float* b, float* result, int n) {
    dot_product<<<(n + 255) / 256, 256>>>(a, b, result, n);
}
// --- dot_product refuses: is used beside the addition
__global__ void dot_product(const float* a, const float* b, float* result, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float p = a[i] * b[i];
    atomicAdd(&result[0], p + result[1]);
}

void launch(const float* a, const float* b, float* result, int n) {
    dot_product<<<(n + 255) / 256, 256>>>(a, b, result, n);
}
// --- dot_product refuses: does not tell blocks of whole warps
__global__ void dot_product(const float* a, const float* b, float* result, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float p = a[i] * b[i];
    atomicAdd(&result[0], p);
}

void launch(const float* a, const float* b, float* result, int n) {
    dot_product<<<(n + 255) / 256, threads>>>(a, b, result, n);
}
// --- dot_product refuses: does not tell blocks of whole warps
__global__ void dot_product(const float* a, const float* b, float* result, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float p = a[i] * b[i];
    atomicAdd(&result[0], p);
}

void launch(const float* a, const float* b, float* result, int n) {
    dot_product<<<(n + 255) / 256, 48>>>(a, b, result, n);
}
// --- dot_product refuses: is not known to point to
__global__ void dot_product(const float* a, const float* b, short* result, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float p = a[i] * b[i];
    atomicAdd(&result[0], p);
}

void launch(const float* a, const float* b, short* result, int n) {
    dot_product<<<(n + 255) / 256, 256>>>(a, b, result, n);
}
// --- dot_product refuses: compares `i` to a bound
__global__ void dot_product(const float* a, const float* b, float* result, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float p = a[i] * b[i];
    atomicAdd(&result[0], p);
}

void launch(const float* a, const float* b, float* result, int n) {
    dot_product<<<(n + 255) / 256, 256>>>(a, b, result, n);
}
