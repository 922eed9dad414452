// --- scale_in_place applies
__global__ void scale_in_place(float* x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] *= factor;
    }
}

void launch_scale_in_place(float* x, float factor, int n) {
    const int block_size = 256;
    const int grid_size = (n + block_size - 1) / block_size;
    scale_in_place<<<grid_size, block_size>>>(x, factor, n);
}
// --- scale_in_place becomes
__global__ void __launch_bounds__(256) scale_in_place(float* x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] *= factor;
    }
}

void launch_scale_in_place(float* x, float factor, int n) {
    const int block_size = 256;
    const int grid_size = (n + block_size - 1) / block_size;
    scale_in_place<<<grid_size, block_size>>>(x, factor, n);
}
// --- scale_in_place applies
#define THREADS (2 * 64)
__global__ void
scale_in_place(float* x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] *= factor;
    }
}

void launch_scale_in_place(float* x, float factor, int n) {
    const int block_size = 256;
    const int grid_size = (n + block_size - 1) / block_size;
    scale_in_place<<<grid_size, dim3(4 * THREADS, 1)>>>(x, factor, n);
}
// --- scale_in_place becomes
#define THREADS (2 * 64)
__global__ void
__launch_bounds__(512) scale_in_place(float* x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] *= factor;
    }
}

void launch_scale_in_place(float* x, float factor, int n) {
    const int block_size = 256;
    const int grid_size = (n + block_size - 1) / block_size;
    scale_in_place<<<grid_size, dim3(4 * THREADS, 1)>>>(x, factor, n);
}
// --- scale_in_place refuses: not a constant
__global__ void scale_in_place(float* x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] *= factor;
    }
}
void run(float* x, float f, int n, int b) { scale_in_place<<<n / b, b>>>(x, f, n); }
// --- scale_in_place refuses: already
__global__ void __launch_bounds__(128) scale_in_place(float* x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] *= factor;
    }
}

void launch_scale_in_place(float* x, float factor, int n) {
    const int block_size = 256;
    const int grid_size = (n + block_size - 1) / block_size;
    scale_in_place<<<grid_size, 128>>>(x, factor, n);
}
