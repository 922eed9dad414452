// --- row_sums applies
__global__ void row_sums(float* out, const float* __restrict__ x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) {
        sum += x[row * C + i];
    }
    out[row] = sum;
}
// --- row_sums becomes
__global__ void row_sums(float* out, const float* __restrict__ x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    const float* x_row = x + row * C;
    for (int i = 0; i < C; i++) {
        sum += x_row[i];
    }
    out[row] = sum;
}
// --- product applies
__global__ void product(const float* a, const float* b, float* out, int rows, int columns, int inner) {
    const unsigned int r = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int c = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < columns) {
        float sum = 0.0f;
        #pragma unroll 4
        for (int k = 0; k < inner; ++k) {
            sum += a[r * inner + k] * b[k * columns + c];
        }
        out[r * columns + c] = sum;
    }
}
// --- product becomes
__global__ void product(const float* a, const float* b, float* out, int rows, int columns, int inner) {
    const unsigned int r = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int c = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < columns) {
        float sum = 0.0f;
        const float* a_row = a + r * inner;
        #pragma unroll 4
        for (int k = 0; k < inner; ++k) {
            sum += a_row[k] * b[k * columns + c];
        }
        out[r * columns + c] = sum;
    }
}
// --- blur applies
__global__ void blur(float* out, const float* x, int rows, int columns) {
    int row = blockIdx.x;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        float sum = 0.0f;
        for (int k = -1; k <= 1; k++) {
            int j = min(max(i + k, 0), columns - 1);
            sum += x[row * columns + j];
        }
        out[row * columns + i] = sum / 3.0f;
    }
}
// --- blur becomes
__global__ void blur(float* out, const float* x, int rows, int columns) {
    int row = blockIdx.x;
    const float* x_row = x + row * columns;
    float* out_row = out + row * columns;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        float sum = 0.0f;
        for (int k = -1; k <= 1; k++) {
            int j = min(max(i + k, 0), columns - 1);
            sum += x_row[j];
        }
        out_row[i] = sum / 3.0f;
    }
}
// --- row_sums refuses: has no index here
__global__ void row_sums(float* out, const float* __restrict__ x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) {
        row += i == C / 2; sum += x[row * C + i];
    }
    out[row] = sum;
}
// --- row_sums refuses: itself moves in the loop
__global__ void row_sums(float* out, const float* __restrict__ x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) {
        x += 1; sum += x[row * C + i];
    }
    out[row] = sum;
}
// --- row_sums refuses: nothing says that
__global__ void row_sums(float* out, const float* __restrict__ x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) {
        sum += x[blockIdx.x * C + i - N];
    }
    out[row] = sum;
}
// --- row_sums refuses: the type of `row`
__global__ void row_sums(float* out, const float* __restrict__ x, int N, int C) {
    auto row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) {
        sum += x[row * N + i];
    }
    out[row] = sum;
}
// --- row_sums refuses: does more than compute
__global__ void row_sums(float* out, const float* __restrict__ x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    for (int i = 0; i < C; i++) {
        sum += x[(int)out[row] * C + i];
    }
    out[row] = sum;
}
// --- row_sums refuses: not a statement on a line of its own
__global__ void row_sums(float* out, const float* __restrict__ x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
    if (N > 1) for (int i = 0; i < C; i++) {
        sum += x[row * C + i];
    }
    out[row] = sum;
}
