// --- sum_strided applies
__global__ void sum_strided(float* out, const float* x, int n) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        sum += x[blockIdx.x * n + i];
    }
    atomicAdd(&out[blockIdx.x], sum);
}
// --- sum_strided becomes
__global__ void sum_strided(float* out, const float* x, int n) {
    float sum = 0.0f;
    #pragma unroll 8
    for (int i = threadIdx.x; i < n; i += (int)blockDim.x) {
        sum += x[blockIdx.x * n + i];
    }
    atomicAdd(&out[blockIdx.x], sum);
}
// --- largest_strided applies
__global__ void largest_strided(double* out, const double* x, const double* w, long long n) {
    double most = 0.0;
    long long i;
    for (i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i = i + gridDim.x * blockDim.x)
        most = fmax(most, x[i] * w[i]);
    for (int r = threadIdx.x / 4; r < n; r += blockDim.x / 4) most = fmax(most, x[r]);
    out[blockIdx.x * blockDim.x + threadIdx.x] = most;
}
// --- largest_strided becomes
__global__ void largest_strided(double* out, const double* x, const double* w, long long n) {
    double most = 0.0;
    long long i;
    #pragma unroll 2
    for (i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int)(gridDim.x * blockDim.x))
        most = fmax(most, x[i] * w[i]);
    #pragma unroll 4
    for (int r = threadIdx.x / 4; r < n; r += max(1, (int)(blockDim.x / 4))) most = fmax(most, x[r]);
    out[blockIdx.x * blockDim.x + threadIdx.x] = most;
}
// --- sum_strided refuses: moves on by an unsigned number
__global__ void sum_strided(float* out, const float* x, unsigned n) {
    float sum = 0.0f;
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
        sum += x[blockIdx.x * n + i];
    }
    atomicAdd(&out[blockIdx.x], sum);
}
// --- cleared refuses: moves on by an unsigned number
__global__ void cleared(float* out, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = 0.0f;
}
// --- steps refuses: moves on by an unsigned number
__global__ void steps(float* out, const float* x, int n) {
    __shared__ float row[256];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        row[threadIdx.x] = x[i];
        __syncthreads();
        sum += row[255 - threadIdx.x];
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}
