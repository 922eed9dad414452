// --- tiled_product applies
__global__ void tiled_product(float* c, const float* a, const float* b, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = c[row * N + col];
    for (int k = 0; k < K; k++) {
        sum += a[row * K + k] * b[k * N + col];
    }
    c[row * N + col] = 0.5f * sum;
}

void launch(float* c, const float* a, const float* b, int M, int N, int K) {
    dim3 block(16, 16);
    dim3 grid((N + block.x - 1) / block.x, (M + block.y - 1) / block.y);
    tiled_product<<<grid, block>>>(c, a, b, M, N, K);
}
// --- tiled_product becomes
__global__ void __launch_bounds__(256, 2) tiled_product(float* c, const float* a, const float* b, int M, int N, int K) {
    // A block computes 128 x 128 outputs, a thread 8 x 8 of them.
    __shared__ __align__(16) float first_tile[2][16][132];
    __shared__ __align__(16) float second_tile[2][16][132];
    const int thread = threadIdx.x;
    const int row_0 = blockIdx.y * 128, column_0 = blockIdx.x * 128;
    float sums[8][8] = {};
    const auto copy = [&](int ahead, int to) {
        {
            int p = row_0 + thread / 16, d = ahead + thread % 16;
            const float* from = &a[(long long)K * p + d];
            #pragma unroll
            for (int n = 0; n < 8; n++) {
                float* step = &first_tile[to][thread % 16][thread / 16 + n * 16];
    #if __CUDA_ARCH__ >= 800
                asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::
                             "r"((unsigned)__cvta_generic_to_shared(step)), "l"(from),
                             "r"(p < M && d < K ? 4 : 0) : "memory");
    #else
                *step = p < M && d < K ? *from : 0;
    #endif
                p += 16, from += (long long)K * 16;
            }
        }
        {
            int p = column_0 + thread % 128, d = ahead + thread / 128;
            const float* from = &b[(long long)N * d + p];
            #pragma unroll
            for (int n = 0; n < 8; n++) {
                float* step = &second_tile[to][thread / 128 + n * 2][thread % 128];
    #if __CUDA_ARCH__ >= 800
                asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::
                             "r"((unsigned)__cvta_generic_to_shared(step)), "l"(from),
                             "r"(p < N && d < K ? 4 : 0) : "memory");
    #else
                *step = p < N && d < K ? *from : 0;
    #endif
                d += 2, from += (long long)N * 2;
            }
        }
    };
    copy(0, 0);
    for (int depth_0 = 0, tile = 0; depth_0 < K; depth_0 += 16, tile ^= 1) {
    #if __CUDA_ARCH__ >= 800
        asm volatile("cp.async.wait_all;" ::: "memory");
    #endif
        __syncthreads();
        if (depth_0 + 16 < K) copy(depth_0 + 16, tile ^ 1);
        #pragma unroll
        for (int d = 0; d < 16; d++) {
            float first[8], second[8];
            #pragma unroll
            for (int i = 0; i < 8; i++) {
                first[i] = first_tile[tile][d][thread / 16 * 4 + i / 4 * 64 + i % 4];
            }
            #pragma unroll
            for (int j = 0; j < 8; j++) {
                second[j] = second_tile[tile][d][thread % 16 * 4 + j / 4 * 64 + j % 4];
            }
            #pragma unroll
            for (int i = 0; i < 8; i++) {
                #pragma unroll
                for (int j = 0; j < 8; j++) {
                    sums[i][j] += first[i] * second[j];
                }
            }
        }
    }
    #pragma unroll
    for (int i = 0; i < 8; i++) {
        #pragma unroll
        for (int j = 0; j < 8; j++) {
            const int row_at = row_0 + thread / 16 * 4 + i / 4 * 64 + i % 4;
            const int column_at = column_0 + thread % 16 * 4 + j / 4 * 64 + j % 4;
            int row = row_at;
            int col = column_at;
            if (row >= M || col >= N) continue;
            float sum = c[row * N + col];
            sum += sums[i][j];
            c[row * N + col] = 0.5f * sum;
        }
    }
}

void launch(float* c, const float* a, const float* b, int M, int N, int K) {
    dim3 block(16, 16);
    dim3 grid((N + block.x - 1) / block.x, (M + block.y - 1) / block.y);
    tiled_product<<<dim3((N + 127) / 128, (M + 127) / 128), 256>>>(c, a, b, M, N, K);
}
// --- tiled_product refuses: no check of its bounds
__global__ void tiled_product(float* c, const float* a, const float* b, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = c[row * N + col];
    for (int k = 0; k < K; k++) {
        sum += a[row * K + k] * b[k * N + col];
    }
    c[row * N + col] = 0.5f * sum;
}

void launch(float* c, const float* a, const float* b, int M, int N, int K) {
    dim3 block(16, 16);
    dim3 grid((N + block.x - 1) / block.x, (M + block.y - 1) / block.y);
    tiled_product<<<grid, block>>>(c, a, b, M, N, K);
}
// --- tiled_product refuses: both places of an output
__global__ void tiled_product(float* c, const float* a, const float* b, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col > row) return;
    float sum = c[row * N + col];
    for (int k = 0; k < K; k++) {
        sum += a[row * K + k] * b[k * N + col];
    }
    c[row * N + col] = 0.5f * sum;
}

void launch(float* c, const float* a, const float* b, int M, int N, int K) {
    dim3 block(16, 16);
    dim3 grid((N + block.x - 1) / block.x, (M + block.y - 1) / block.y);
    tiled_product<<<grid, block>>>(c, a, b, M, N, K);
}
// --- tiled_product refuses: same axis of the grid
__global__ void tiled_product(float* c, const float* a, const float* b, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = c[row * N + col];
    for (int k = 0; k < K; k++) {
        sum += a[row * K + k] * b[k * N + row];
    }
    c[row * N + col] = 0.5f * sum;
}

void launch(float* c, const float* a, const float* b, int M, int N, int K) {
    dim3 block(16, 16);
    dim3 grid((N + block.x - 1) / block.x, (M + block.y - 1) / block.y);
    tiled_product<<<grid, block>>>(c, a, b, M, N, K);
}
// --- tiled_product refuses: adds no product to a variable
__global__ void tiled_product(float* c, const float* a, const float* b, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = c[row * N + col];
    for (int k = 0; k < K; k++) {
        sum = 0.5f * sum + a[row * K + k] * b[k * N + col];
    }
    c[row * N + col] = 0.5f * sum;
}

void launch(float* c, const float* a, const float* b, int M, int N, int K) {
    dim3 block(16, 16);
    dim3 grid((N + block.x - 1) / block.x, (M + block.y - 1) / block.y);
    tiled_product<<<grid, block>>>(c, a, b, M, N, K);
}
// --- tiled_product refuses: depends on
__global__ void tiled_product(float* c, const float* a, const float* b, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = c[row * N + col];
    for (int k = 0; k < row; k++) {
        sum += a[row * K + k] * b[k * N + col];
    }
    c[row * N + col] = 0.5f * sum;
}

void launch(float* c, const float* a, const float* b, int M, int N, int K) {
    dim3 block(16, 16);
    dim3 grid((N + block.x - 1) / block.x, (M + block.y - 1) / block.y);
    tiled_product<<<grid, block>>>(c, a, b, M, N, K);
}
// --- tiled_product refuses: launch bounds
__global__ void __launch_bounds__(256) tiled_product(float* c, const float* a, const float* b, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = c[row * N + col];
    for (int k = 0; k < K; k++) {
        sum += a[row * K + k] * b[k * N + col];
    }
    c[row * N + col] = 0.5f * sum;
}

void launch(float* c, const float* a, const float* b, int M, int N, int K) {
    dim3 block(16, 16);
    dim3 grid((N + block.x - 1) / block.x, (M + block.y - 1) / block.y);
    tiled_product<<<grid, block>>>(c, a, b, M, N, K);
}
// --- moved refuses: is moved on by the kernel
__global__ void moved(const float* a, const float* b, float* c, int rows, int columns, int depth) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    c += (size_t)i * columns;
    if (i < rows && j < columns) {
        float sum = 0.0f;
        for (int k = 0; k < depth; k++) { sum += a[i * depth + k] * b[k * columns + j]; }
        c[j] = sum;
    }
}
void run(const float* a, const float* b, float* c, int rows, int columns, int depth) {
    moved<<<dim3((columns + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(a, b, c, rows, columns, depth);
}
// --- channels applies
// A layer over the channels of pictures: a block has one output channel, its threads pixels.
__global__ void channels(const float* x, const float* w, const float* bias, float* y, int inputs, int outputs, int pixels) {
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= pixels) return;
    const float* picture = x + (size_t)blockIdx.z * inputs * pixels;
    float sum = 0.0f;
    for (int c = 0; c < inputs; ++c) sum += w[blockIdx.y * inputs + c] * picture[c * pixels + p];
    y[((size_t)blockIdx.z * outputs + blockIdx.y) * pixels + p] = sum + bias[blockIdx.y];
}

void run(const float* x, const float* w, const float* bias, float* y, int pictures, int inputs, int outputs, int pixels) {
    channels<<<dim3((pixels + 255) / 256, outputs, pictures), 256>>>(x, w, bias, y, inputs, outputs, pixels);
}
// --- channels becomes
// A layer over the channels of pictures: a block has one output channel, its threads pixels.
__global__ void __launch_bounds__(256, 2) channels(const float* x, const float* w, const float* bias, float* y, int inputs, int outputs, int pixels) {
    // A block computes 128 x 128 outputs, a thread 8 x 8 of them.
    __shared__ __align__(16) float first_tile[2][16][132];
    __shared__ __align__(16) float second_tile[2][16][132];
    const int thread = threadIdx.x;
    const int row_0 = blockIdx.y * 128, column_0 = blockIdx.x * 128;
    float sums[8][8] = {};
    const auto copy = [&](int ahead, int to) {
        {
            int p_ = row_0 + thread / 16, d = ahead + thread % 16;
            const float* from = &w[(long long)inputs * p_ + d];
            #pragma unroll
            for (int n = 0; n < 8; n++) {
                float* step = &first_tile[to][thread % 16][thread / 16 + n * 16];
    #if __CUDA_ARCH__ >= 800
                asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::
                             "r"((unsigned)__cvta_generic_to_shared(step)), "l"(from),
                             "r"(p_ < outputs && d < inputs ? 4 : 0) : "memory");
    #else
                *step = p_ < outputs && d < inputs ? *from : 0;
    #endif
                p_ += 16, from += (long long)inputs * 16;
            }
        }
        {
            int p_ = column_0 + thread % 128, d = ahead + thread / 128;
            const float* from = &x[(long long)blockIdx.z * inputs * pixels + (long long)d * pixels + p_];
            #pragma unroll
            for (int n = 0; n < 8; n++) {
                float* step = &second_tile[to][thread / 128 + n * 2][thread % 128];
    #if __CUDA_ARCH__ >= 800
                asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::
                             "r"((unsigned)__cvta_generic_to_shared(step)), "l"(from),
                             "r"(p_ < pixels && d < inputs ? 4 : 0) : "memory");
    #else
                *step = p_ < pixels && d < inputs ? *from : 0;
    #endif
                d += 2, from += (long long)pixels * 2;
            }
        }
    };
    copy(0, 0);
    for (int depth_0 = 0, tile = 0; depth_0 < inputs; depth_0 += 16, tile ^= 1) {
    #if __CUDA_ARCH__ >= 800
        asm volatile("cp.async.wait_all;" ::: "memory");
    #endif
        __syncthreads();
        if (depth_0 + 16 < inputs) copy(depth_0 + 16, tile ^ 1);
        #pragma unroll
        for (int d = 0; d < 16; d++) {
            float first[8], second[8];
            #pragma unroll
            for (int i = 0; i < 8; i++) {
                first[i] = first_tile[tile][d][thread / 16 * 4 + i / 4 * 64 + i % 4];
            }
            #pragma unroll
            for (int j = 0; j < 8; j++) {
                second[j] = second_tile[tile][d][thread % 16 * 4 + j / 4 * 64 + j % 4];
            }
            #pragma unroll
            for (int i = 0; i < 8; i++) {
                #pragma unroll
                for (int j = 0; j < 8; j++) {
                    sums[i][j] += first[i] * second[j];
                }
            }
        }
    }
    #pragma unroll
    for (int i = 0; i < 8; i++) {
        #pragma unroll
        for (int j = 0; j < 8; j++) {
            const int row_at = row_0 + thread / 16 * 4 + i / 4 * 64 + i % 4;
            const int column_at = column_0 + thread % 16 * 4 + j / 4 * 64 + j % 4;
            if (row_at >= outputs) continue;
            const int p = column_at;
            if (p >= pixels) continue;
            const float* picture = x + (size_t)blockIdx.z * inputs * pixels;
            float sum = 0.0f;
            sum += sums[i][j];
            y[((size_t)blockIdx.z * outputs + row_at) * pixels + p] = sum + bias[row_at];
        }
    }
}

void run(const float* x, const float* w, const float* bias, float* y, int pictures, int inputs, int outputs, int pixels) {
    channels<<<dim3((pixels + 127) / 128, (outputs + 127) / 128, pictures), 256>>>(x, w, bias, y, inputs, outputs, pixels);
}
// --- channels refuses: tells where `w[blockIdx.y * inputs + c]` ends
// A layer over the channels of pictures: a block has one output channel, its threads pixels.
__global__ void channels(const float* x, const float* w, const float* bias, float* y, int inputs, int outputs, int pixels) {
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= pixels) return;
    const float* picture = x + (size_t)blockIdx.z * inputs * pixels;
    float sum = 0.0f;
    for (int c = 0; c < inputs; ++c) sum += w[blockIdx.y * inputs + c] * picture[c * pixels + p];
    y[((size_t)blockIdx.z * outputs + blockIdx.y) * pixels + p] = sum + bias[blockIdx.y];
}

void run(const float* x, const float* w, const float* bias, float* y, int pictures, int inputs, int outputs, int pixels) {
    channels<<<dim3((pixels + 255) / 256, outputs + 1, pictures), 256>>>(x, w, bias, y, inputs, outputs, pixels);
}
