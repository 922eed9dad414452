// --- add_bias applies
__global__ void add_bias(float* out, float* x, const float *bias, int n, int c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = x[i] + bias[i % c];
    }
}

void launch(float* out, float* x, const float* bias, int n, int c) {
    add_bias<<<(n + 255) / 256, 256>>>(out, x, bias, n, c);
}
// --- add_bias becomes
__global__ void add_bias(float* __restrict__ out, const float* __restrict__ x, const float *__restrict__ bias, int n, int c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = x[i] + bias[i % c];
    }
}

void launch(float* out, float* x, const float* bias, int n, int c) {
    add_bias<<<(n + 255) / 256, 256>>>(out, x, bias, n, c);
}
// --- row_sum applies
__global__ void row_sum(float* out, float* x, int c) {
    const float* row = x + blockIdx.x * c;
    float sum = 0.0f;
    for (int i = 0; i < c; i++) {
        sum += row[i];
    }
    out[blockIdx.x] = sum;
}
// --- row_sum becomes
__global__ void row_sum(float* __restrict__ out, const float* __restrict__ x, int c) {
    const float* row = x + blockIdx.x * c;
    float sum = 0.0f;
    for (int i = 0; i < c; i++) {
        sum += row[i];
    }
    out[blockIdx.x] = sum;
}
// --- twice applies
#define IN(r, c) in[(r) * cols + (c)]
#define OUT(r, c) out[(r) * cols + (c)]
#define LAST last[0]
__global__ void twice(float* in, float* out, float* last, int cols) {
    int r = blockIdx.x, c = threadIdx.x;
    OUT(r, c) = 2.0f * IN(r, c) + out[0];
    if (c == 0) LAST += 1.0f;
}
// --- twice becomes
#define IN(r, c) in[(r) * cols + (c)]
#define OUT(r, c) out[(r) * cols + (c)]
#define LAST last[0]
__global__ void twice(const float* __restrict__ in, float* __restrict__ out, float* __restrict__ last, int cols) {
    int r = blockIdx.x, c = threadIdx.x;
    OUT(r, c) = 2.0f * IN(r, c) + out[0];
    if (c == 0) LAST += 1.0f;
}
// --- add_bias refuses: overlap
__global__ void add_bias(float* out, float* x, const float* bias, int n, int c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = x[i] + bias[i % c];
    }
}

void launch(float* out, float* x, const float* bias, int n, int c) {
    add_bias<<<(n + 255) / 256, 256>>>(x, x, bias, n, c);
}
// --- add_bias refuses: declared or instantiated elsewhere
__global__ void add_bias(float* out, float* x, const float* bias, int n, int c);
__global__ void add_bias(float* out, float* x, const float* bias, int n, int c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = x[i] + bias[i % c];
    }
}

void launch(float* out, float* x, const float* bias, int n, int c) {
    add_bias<<<(n + 255) / 256, 256>>>(out, x, bias, n, c);
}
