// The plainest form of what the kernels beside this file compute: a thread computes one element from the inputs alone.
// The arguments are those of the seeded kernels, so far as they matter.
#include <cuda_fp16.h>

__global__ void matmul(float* c, const float* a, const float* b, int M, int N, int K) {
    int row = blockIdx.x, col = threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < K; k++) {
        sum += a[row * K + k] * b[k * N + col];
    }
    c[row * N + col] = sum;
}

__global__ void half_matmul(float* c, const __half* a, const __half* b, int N, int K) {
    int row = blockIdx.x, col = threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < K; k++) {
        sum += __half2float(a[row * K + k]) * __half2float(b[k * N + col]);
    }
    c[row * N + col] = sum;
}

__global__ void transpose(float* y, const float* x, int M, int N) {
    int row = blockIdx.x, col = threadIdx.x;
    y[col * M + row] = x[row * N + col];
}

__global__ void row_sum(float* y, const float* x, int C) {
    float sum = 0.0f;
    for (int i = 0; i < C; i++) {
        sum += x[blockIdx.x * C + i];
    }
    y[blockIdx.x] = sum;
}

__global__ void row_squares(float* y, const float* x, int N, int C) {
    float sum = 0.0f;
    for (int i = 0; i < C; i++) {
        float v = x[blockIdx.x * C + i];
        sum += v * v;
    }
    y[blockIdx.x] = sum;
}

__global__ void vector_sum(float* out, const float* x, int N) {
    float sum = out[0];
    for (int i = 0; i < N; i++) {
        sum += x[i];
    }
    out[0] = sum;
}

__global__ void layernorm(float* y, const float* x, const float* w, const float* b, int C) {
    const float* row = x + blockIdx.x * C;
    float sum = 0.0f, squares = 0.0f;
    for (int i = 0; i < C; i++) {
        sum += row[i];
    }
    float mean = sum / C;
    for (int i = 0; i < C; i++) {
        squares += (row[i] - mean) * (row[i] - mean);
    }
    float deviation = sqrtf(squares / C + 1e-3f);
    for (int i = 0; i < C; i++) {
        y[blockIdx.x * C + i] = (row[i] - mean) / deviation * w[i] + b[i];
    }
}

__global__ void layernorm_and_mean(float* y, float* mean, const float* x, const float* w, const float* b, int C) {
    const float* row = x + blockIdx.x * C;
    float sum = 0.0f, squares = 0.0f;
    for (int i = 0; i < C; i++) {
        sum += row[i];
    }
    float middle = sum / C;
    for (int i = 0; i < C; i++) {
        squares += (row[i] - middle) * (row[i] - middle);
    }
    float deviation = sqrtf(squares / C + 1e-3f);
    for (int i = 0; i < C; i++) {
        y[blockIdx.x * C + i] = (row[i] - middle) / deviation * w[i] + b[i];
    }
    mean[blockIdx.x] = middle;
}

__global__ void rmsnorm(float* y, const float* x, const float* w, int C) {
    const float* row = x + blockIdx.x * C;
    float squares = 0.0f;
    for (int i = 0; i < C; i++) {
        squares += row[i] * row[i];
    }
    float root = sqrtf(squares / C + 1e-3f);
    for (int i = 0; i < C; i++) {
        y[blockIdx.x * C + i] = row[i] / root * w[i];
    }
}

__global__ void softmax(float* y, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    float most = row[0], sum = 0.0f;
    for (int i = 1; i < C; i++) {
        most = row[i] > most ? row[i] : most;
    }
    for (int i = 0; i < C; i++) {
        sum += expf(row[i] - most);
    }
    for (int i = 0; i < C; i++) {
        y[blockIdx.x * C + i] = expf(row[i] - most) / sum;
    }
}

__global__ void log_sum_exp(float* y, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    float most = row[0], sum = 0.0f;
    for (int i = 1; i < C; i++) {
        most = row[i] > most ? row[i] : most;
    }
    for (int i = 0; i < C; i++) {
        sum += expf(row[i] - most);
    }
    y[blockIdx.x] = most + logf(sum);
}

__global__ void cross_entropy(float* loss, const float* x, const int* target, int N, int C) {
    const float* row = x + blockIdx.x * C;
    float sum = 0.0f;
    for (int i = 0; i < C; i++) {
        sum += expf(row[i] - row[target[blockIdx.x]]);
    }
    loss[blockIdx.x] = logf(sum);
}

__global__ void scan(float* y, const float* x, int C) {
    float sum = 0.0f;
    for (int i = 0; i <= threadIdx.x; i++) {
        sum += x[blockIdx.x * C + i];
    }
    y[blockIdx.x * C + threadIdx.x] = sum;
}

__global__ void histogram(int* bins, const int* x, int n) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        count += x[i] == threadIdx.x;
    }
    bins[threadIdx.x] += count;
}

__global__ void stencil(float* y, const float* x, int n) {
    int i = blockIdx.x;
    float sum = 0.0f;
    for (int j = i - 2; j <= i + 2; j++) {
        if (j >= 0 && j < n) {
            sum += x[j] / (1 + (j - i) * (j - i));
        }
    }
    y[i] = sum;
}

__global__ void laplace(float* y, const float* x, int M, int N) {
    int row = blockIdx.x, col = threadIdx.x;
    float sum = -4.0f * x[row * N + col];
    if (row > 0) sum += x[row * N - N + col];
    if (row + 1 < M) sum += x[row * N + N + col];
    if (col > 0) sum += x[row * N + col - 1];
    if (col + 1 < N) sum += x[row * N + col + 1];
    y[row * N + col] = sum;
}

__global__ void embedding(float* y, const float* table, const int* tokens, int N, int C) {
    int row = blockIdx.x, column = threadIdx.x;
    y[row * C + column] = row / 2.0f + table[tokens[row] * C + column];
}

__global__ void pipelined(float* y, const float* x, int tiles) {
    int at = blockIdx.x * 64 + threadIdx.x;
    y[at] = 1.0f + 2.0f * x[blockIdx.x * 64 + 63 - threadIdx.x];
}

__global__ void add(float* y, const float* a, const float* b, int n) {
    y[blockIdx.x] = a[blockIdx.x] - b[blockIdx.x] - b[blockIdx.x];
}

__global__ void dropout(float* y, const float* x, const int* chance, int n, int p) {
    y[blockIdx.x] = chance[blockIdx.x] > p ? x[blockIdx.x] + x[blockIdx.x] : 0.0f;
}
