// --- column_share applies
__global__ void column_share(float* mean, const float* x, int rows, int cols) {
    __shared__ float part[256];
    int c = blockIdx.x;
    float s = 0.0f;
    for (int r = threadIdx.x; r < rows; r += blockDim.x) s += x[r * cols + c];
    part[threadIdx.x] = s;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) mean[c] = part[0] / rows;
}

void run_column_share(float* mean, const float* x, int rows, int cols) {
    column_share<<<cols, 256>>>(mean, x, rows, cols);
}
// --- column_share becomes
__global__ void column_share(float* mean, const float* x, int rows, int cols) {
    const unsigned lane = threadIdx.x % 8, member = threadIdx.x / 8;
    const unsigned here = blockIdx.x * 8 + lane;
    const unsigned column = here < cols ? here : cols - 1;
    __shared__ float part[256];
    int c = column;
    float s = 0.0f;
    if (here < cols) {
    #pragma unroll 8
    for (int r = member; r < rows; r += max(1, (int)(blockDim.x / 8))) s += x[r * cols + c];
    }
    part[member * 8 + lane] = s;
    __syncthreads();
    for (int half = (blockDim.x / 8) / 2; half > 0; half /= 2) {
        if (member < half) part[member * 8 + lane] += part[(member + half) * 8 + lane];
        __syncthreads();
    }
    if (here < cols) if (member == 0) mean[c] = part[lane] / rows;
}

void run_column_share(float* mean, const float* x, int rows, int cols) {
    column_share<<<(cols + 7) / 8, 256>>>(mean, x, rows, cols);
}
// --- norm_features applies
#define THREADS 128
// Batch norm over features, by threads of a number that the code says.
__global__ void norm_features(float* y, const float* x, const float* gain, float* means, int N, int C, float eps) {
    const int tid = threadIdx.x;
    __shared__ float sums[THREADS], squares[THREADS];
    float sum = 0.f, square = 0.f;
    #pragma unroll 4
    for (int n = tid; n < N; n += THREADS) {
        float v = x[(size_t)n * C + blockIdx.x];
        sum += v;
        square += v * v;
    }
    sums[tid] = sum;
    squares[tid] = square;
    __syncthreads();
    for (int s = THREADS / 2; s >= 1; s >>= 1) {
        if (tid < s) {
            sums[tid] += sums[s + tid];
            squares[tid] += squares[tid + s];
        }
        __syncthreads();
    }
    float mean = sums[0] / N;
    float scale = rsqrtf(squares[0] / N - mean * mean + eps) * gain[blockIdx.x];
    if (!tid) {
        means[blockIdx.x] = mean;
    }
    for (int n = tid; n < N; n += blockDim.x)
        y[(size_t)n * C + blockIdx.x] = (x[(size_t)n * C + blockIdx.x] - mean) * scale;
}

void run_norm_features(float* y, const float* x, const float* gain, float* means, int N, int C) {
    norm_features<<<dim3(C), dim3(THREADS)>>>(y, x, gain, means, N, C, 1e-5f);
}
// --- norm_features becomes
#define THREADS 128
// Batch norm over features, by threads of a number that the code says.
__global__ void norm_features(float* y, const float* x, const float* gain, float* means, int N, int C, float eps) {
    const unsigned lane = threadIdx.x % 8, member = threadIdx.x / 8;
    const unsigned here = blockIdx.x * 8 + lane;
    const unsigned column = here < C ? here : C - 1;
    const int tid = member;
    __shared__ float sums[THREADS], squares[THREADS];
    float sum = 0.f, square = 0.f;
    if (here < C) {
    #pragma unroll 4
    for (int n = tid; n < N; n += max(1, (int)(blockDim.x / 8))) {
        float v = x[(size_t)n * C + column];
        sum += v;
        square += v * v;
    }
    }
    sums[tid * 8 + lane] = sum;
    squares[tid * 8 + lane] = square;
    __syncthreads();
    for (int s = (blockDim.x / 16); s >= 1; s >>= 1) {
        if (tid < s) {
            sums[tid * 8 + lane] += sums[(s + tid) * 8 + lane];
            squares[tid * 8 + lane] += squares[(tid + s) * 8 + lane];
        }
        __syncthreads();
    }
    float mean = sums[lane] / N;
    float scale = rsqrtf(squares[lane] / N - mean * mean + eps) * gain[column];
    if (here < C) if (!tid) {
        means[column] = mean;
    }
    if (here < C) {
    #pragma unroll 4
    for (int n = tid; n < N; n += max(1, (int)(blockDim.x / 8)))
        y[(size_t)n * C + column] = (x[(size_t)n * C + column] - mean) * scale;
    }
}

void run_norm_features(float* y, const float* x, const float* gain, float* means, int N, int C) {
    norm_features<<<dim3((C + 7) / 8), dim3(THREADS)>>>(y, x, gain, means, N, C, 1e-5f);
}
// --- peak_of_column applies
#include <cuda_fp16.h>
// One thread combines what all have.
__global__ void peak_of_column(float* out, const half* x, int rows, int cols) {
    __shared__ float best[64];
    best[threadIdx.x] = -1e30f;
    for (int r = threadIdx.x; r < rows; r += blockDim.x)
        best[threadIdx.x] = fmaxf(best[threadIdx.x], __half2float(x[r * cols + blockIdx.x]));
    __syncthreads();
    if (threadIdx.x == 0) {
        float most = best[0];
        for (int i = 1; i < blockDim.x; i++) most = fmaxf(most, best[i]);
        out[blockIdx.x] = most;
    }
}

void run_peak_of_column(float* out, const half* x, int rows, int cols) {
    peak_of_column<<<cols, 64>>>(out, x, rows, cols);
}
// --- peak_of_column becomes
#include <cuda_fp16.h>
// One thread combines what all have.
__global__ void peak_of_column(float* out, const half* x, int rows, int cols) {
    const unsigned lane = threadIdx.x % 8, member = threadIdx.x / 8;
    const unsigned here = blockIdx.x * 8 + lane;
    const unsigned column = here < cols ? here : cols - 1;
    __shared__ float best[64];
    best[member * 8 + lane] = -1e30f;
    if (here < cols) {
    #pragma unroll 16
    for (int r = member; r < rows; r += max(1, (int)(blockDim.x / 8)))
        best[member * 8 + lane] = fmaxf(best[member * 8 + lane], __half2float(x[r * cols + column]));
    }
    __syncthreads();
    if (here < cols) if (member == 0) {
        float most = best[lane];
        for (int i = 1; i < (blockDim.x / 8); i++) most = fmaxf(most, best[i * 8 + lane]);
        out[column] = most;
    }
}

void run_peak_of_column(float* out, const half* x, int rows, int cols) {
    peak_of_column<<<(cols + 7) / 8, 64>>>(out, x, rows, cols);
}
// --- down refuses: `__shfl
__global__ void down(float* out, const float* x, int rows, int cols) {
    float s = 0.0f;
    for (int r = threadIdx.x; r < rows; r += blockDim.x) s += x[r * cols + blockIdx.x];
    for (int o = 16; o > 0; o /= 2) s += __shfl_down_sync(0xffffffff, s, o);
    if (threadIdx.x == 0) out[blockIdx.x] = s;
}
void run(float* out, const float* x, int rows, int cols) { down<<<cols, 32>>>(out, x, rows, cols); }
// --- down refuses: tells more of a thread than which of any number it is
__global__ void down(float* out, const float* x, int rows, int cols) {
    __shared__ float part[64];
    float s = 0.0f;
    for (int r = threadIdx.x; r < rows; r += blockDim.x) s += x[r * cols + blockIdx.x];
    part[threadIdx.x] = s;
    __syncthreads();
    if (threadIdx.x < 32) part[threadIdx.x] += part[threadIdx.x + 32];
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
void run(float* out, const float* x, int rows, int cols) { down<<<cols, 64>>>(out, x, rows, cols); }
// --- down refuses: tells more of a thread than which of any number it is
// 128 threads are taken for granted by a loop that counts by itself.
__global__ void down(float* out, const float* x, int rows, int cols) {
    __shared__ float part[128];
    float s = 0.0f;
    int r = threadIdx.x;
    while (r < rows) { s += x[r * cols + blockIdx.x]; r += 128; }
    part[threadIdx.x] = s;
    __syncthreads();
    if (threadIdx.x == 0) { for (int i = 1; i < blockDim.x; i++) s += part[i]; out[blockIdx.x] = s; }
}
void run(float* out, const float* x, int rows, int cols) { down<<<cols, 128>>>(out, x, rows, cols); }
// --- down refuses: may be the place of no thread
__global__ void down(float* out, const float* x, int rows, int cols) {
    __shared__ float part[128];
    float s = 0.0f;
    for (int r = threadIdx.x; r < rows; r += blockDim.x) s += x[r * cols + blockIdx.x];
    part[threadIdx.x] = s;
    __syncthreads();
    if (threadIdx.x == 0) { for (int i = 1; i < 64; i++) s += part[i]; out[blockIdx.x] = s; }
}
void run(float* out, const float* x, int rows, int cols) { down<<<cols, 128>>>(out, x, rows, cols); }
// --- down refuses: does not halve the whole block
__global__ void down(float* out, const float* x, int rows, int cols) {
    __shared__ float part[128];
    float s = 0.0f;
    for (int r = threadIdx.x; r < rows; r += blockDim.x) s += x[r * cols + blockIdx.x];
    part[threadIdx.x] = s;
    __syncthreads();
    for (int h = blockDim.x / 2; h > 32; h /= 2) {
        if (threadIdx.x < h) part[threadIdx.x] += part[threadIdx.x + h];
        __syncthreads();
    }
    if (threadIdx.x == 0) { for (int i = 1; i < blockDim.x; i++) s += part[i]; out[blockIdx.x] = s; }
}
void run(float* out, const float* x, int rows, int cols) { down<<<cols, 128>>>(out, x, rows, cols); }
// --- down refuses: not all threads may come to the barrier
__global__ void down(float* out, const float* x, int rows, int cols) {
    __shared__ float part[128];
    float s = 0.0f;
    for (int r = threadIdx.x; r < rows; r += blockDim.x) s += x[r * cols + blockIdx.x];
    if (x[blockIdx.x] > 0.0f) { part[threadIdx.x] = s; __syncthreads(); s = part[0]; }
    if (threadIdx.x == 0) out[blockIdx.x] = s;
}
void run(float* out, const float* x, int rows, int cols) { down<<<cols, 128>>>(out, x, rows, cols); }
// --- down refuses: no argument of down tells how many blocks there are
__global__ void down(float* out, const float* x, int rows, int pitch) {
    __shared__ float part[128];
    part[threadIdx.x] = 0.0f;
    for (int r = threadIdx.x; r < rows; r += blockDim.x) part[threadIdx.x] += x[r * pitch + blockIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) { float s = 0; for (int i = 0; i < blockDim.x; i++) s += part[i]; out[blockIdx.x] = s; }
}
void run(float* out, const float* x, int rows, int pitch, int width) { down<<<width, 128>>>(out, x, rows, pitch); }
// --- down refuses: may mean something else for several blocks in one
__global__ void down(float* out, const float* x, int rows, int cols) {
    float s = 0.0f;
    for (int r = threadIdx.x; r < rows; r += blockDim.x) s += x[r * cols + blockIdx.x];
    atomicAdd(&out[blockIdx.x], s);
}
void run(float* out, const float* x, int rows, int cols) { down<<<cols, 128>>>(out, x, rows, cols); }
// --- down refuses: no power of two
__global__ void down(float* out, const float* x, int rows, int cols) {
    __shared__ float part[96];
    part[threadIdx.x] = 0.0f;
    for (int r = threadIdx.x; r < rows; r += blockDim.x) part[threadIdx.x] += x[r * cols + blockIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) { float s = 0; for (int i = 0; i < blockDim.x; i++) s += part[i]; out[blockIdx.x] = s; }
}
void run(float* out, const float* x, int rows, int cols) { down<<<cols, 96>>>(out, x, rows, cols); }
// --- down refuses: has not one place for each thread
__global__ void down(float* out, const float* x, int rows, int cols) {
    __shared__ float all;
    if (threadIdx.x == 0) all = x[blockIdx.x];
    __syncthreads();
    for (int r = threadIdx.x; r < rows; r += blockDim.x) out[r * cols + blockIdx.x] = x[r * cols + blockIdx.x] - all;
}
void run(float* out, const float* x, int rows, int cols) { down<<<cols, 128>>>(out, x, rows, cols); }
