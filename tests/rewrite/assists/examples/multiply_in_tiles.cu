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
// --- filtered_signals applies
// Channels are innermost in the index, and a filter is as wide as the caller says.
__global__ void filtered_signals(const float* signal, const float* filter, float* out, int batch, int inputs, int outputs,
                                 int length, int taps, int gap) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= batch * length * outputs) return;
    const int o = at % outputs;
    const int t = at / outputs % length;
    const int b = at / (outputs * length);
    float sum = 0.0f;
    for (int c = 0; c < inputs; ++c) {
        for (int k = 0; k < taps; ++k) {
            const int from = t - k * gap;
            if (from < 0) continue;
            sum += filter[(o * inputs + c) * taps + k] * signal[(b * inputs + c) * length + from];
        }
    }
    out[at] = fmaxf(sum, 0.0f);
}
void run(const float* signal, const float* filter, float* out, int batch, int inputs, int outputs, int length, int taps,
         int gap) {
    filtered_signals<<<(batch * length * outputs + 127) / 128, 128>>>(signal, filter, out, batch, inputs, outputs, length,
                                                                     taps, gap);
}
// --- filtered_signals becomes
// Channels are innermost in the index, and a filter is as wide as the caller says.
__global__ void __launch_bounds__(256, 2) filtered_signals(const float* signal, const float* filter, float* out, int batch, int inputs, int outputs,
                                 int length, int taps, int gap) {
    // A block computes 128 x 128 outputs, a thread 8 x 8 of them.
    __shared__ __align__(16) float first_tile[2][16][132];
    __shared__ __align__(16) float second_tile[2][16][132];
    const int thread = threadIdx.x;
    const int row_0 = blockIdx.y * 128, column_0 = blockIdx.x * 128;
    float sums[8][8] = {};
    const auto copy = [&](int ahead, int to) {
        {
            int p = row_0 + thread % 128, d = ahead + thread / 128;
            #pragma unroll
            for (int n = 0; n < 8; n++) {
                const float* from_ = &signal[(long long)(d / taps) * gap * taps + (long long)blockIdx.z * inputs * length + (long long)(d / taps) * length + p - (long long)d * gap];
                float* step_ = &first_tile[to][thread / 128 + n * 2][thread % 128];
    #if __CUDA_ARCH__ >= 800
                asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::
                             "r"((unsigned)__cvta_generic_to_shared(step_)), "l"(from_),
                             "r"(p < length && 0 <= (d / taps) * gap * taps + p - d * gap && d < (inputs * taps) ? 4 : 0) : "memory");
    #else
                *step_ = p < length && 0 <= (d / taps) * gap * taps + p - d * gap && d < (inputs * taps) ? *from_ : 0;
    #endif
                d += 2;
            }
        }
        {
            int p = column_0 + thread / 16, d = ahead + thread % 16;
            const float* from_ = &filter[(long long)inputs * p * taps + d];
            #pragma unroll
            for (int n = 0; n < 8; n++) {
                float* step_ = &second_tile[to][thread % 16][thread / 16 + n * 16];
    #if __CUDA_ARCH__ >= 800
                asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::
                             "r"((unsigned)__cvta_generic_to_shared(step_)), "l"(from_),
                             "r"(p < outputs && d < (inputs * taps) ? 4 : 0) : "memory");
    #else
                *step_ = p < outputs && d < (inputs * taps) ? *from_ : 0;
    #endif
                p += 16, from_ += (long long)inputs * taps * 16;
            }
        }
    };
    copy(0, 0);
    for (int depth_0 = 0, tile = 0; depth_0 < (inputs * taps); depth_0 += 16, tile ^= 1) {
    #if __CUDA_ARCH__ >= 800
        asm volatile("cp.async.wait_all;" ::: "memory");
    #endif
        __syncthreads();
        if (depth_0 + 16 < (inputs * taps)) copy(depth_0 + 16, tile ^ 1);
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
    unsigned long long again = 0;
    #pragma unroll
    for (int i = 0; i < 8; i++) {
        #pragma unroll
        for (int j = 0; j < 8; j++) {
            const int row_at = row_0 + thread / 16 * 4 + i / 4 * 64 + i % 4;
            const int column_at = column_0 + thread % 16 * 4 + j / 4 * 64 + j % 4;
            if (sums[i][j] != sums[i][j]) {
                again |= 1ull << (i * 8 + j);
                continue;
            }
            if (column_at >= outputs) continue;
            if (row_at >= length) continue;
            if ((batch * length * outputs <= blockIdx.z * length * outputs + outputs * row_at + column_at)) continue;
            const int o = column_at;
            const int t = row_at;
            const int b = (blockIdx.z);
            float sum = 0.0f;
            sum += sums[i][j];
            out[(blockIdx.z * length * outputs + outputs * row_at + column_at)] = fmaxf(sum, 0.0f);
        }
    }
    #pragma unroll 1
    for (int i = 0; i < 8; i++) {
        #pragma unroll 1
        for (int j = 0; j < 8; j++) {
            const int row_at = row_0 + thread / 16 * 4 + i / 4 * 64 + i % 4;
            const int column_at = column_0 + thread % 16 * 4 + j / 4 * 64 + j % 4;
            if (!(again >> (i * 8 + j) & 1)) continue;
            if (column_at >= outputs) continue;
            if (row_at >= length) continue;
            if ((batch * length * outputs <= blockIdx.z * length * outputs + outputs * row_at + column_at)) continue;
            const int o = column_at;
            const int t = row_at;
            const int b = (blockIdx.z);
            float sum = 0.0f;
            for (int step = 0; step < (inputs * taps); step++) {
                const int c = step / taps;
                const int k = step % taps;
                const int from = t - k * gap;
                if (from >= 0) {
                    sum += filter[(o * inputs + c) * taps + k] * signal[(b * inputs + c) * length + from];
                }
            }
            out[(blockIdx.z * length * outputs + outputs * row_at + column_at)] = fmaxf(sum, 0.0f);
        }
    }
}
void run(const float* signal, const float* filter, float* out, int batch, int inputs, int outputs, int length, int taps,
         int gap) {
    filtered_signals<<<dim3((outputs + 127) / 128, (length + 127) / 128, batch), 256>>>(signal, filter, out, batch, inputs, outputs, length,
                                                                     taps, gap);
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
// --- layers_of_products applies
// Outputs of all layers are counted by one index.
__global__ void layers_of_products(const float* A, const float* B, float* C, int layers, int M, int N, int K) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= layers * M * N) return;
    int layer = idx / (M * N);
    int row = (idx / N) % M;
    int col = idx % N;
    float sum = 0.0f;
    for (int k = 0; k < K; k++) sum += A[(layer * M + row) * K + k] * B[(layer * K + k) * N + col];
    C[idx] = sum;
}

void run_layers(const float* A, const float* B, float* C, int layers, int M, int N, int K) {
    layers_of_products<<<(layers * M * N + 127) / 128, 128>>>(A, B, C, layers, M, N, K);
}
// --- layers_of_products becomes
// Outputs of all layers are counted by one index.
__global__ void __launch_bounds__(256, 2) layers_of_products(const float* A, const float* B, float* C, int layers, int M, int N, int K) {
    // A block computes 128 x 128 outputs, a thread 8 x 8 of them.
    __shared__ __align__(16) float first_tile[2][16][132];
    __shared__ __align__(16) float second_tile[2][16][132];
    const int thread = threadIdx.x;
    const int row_0 = blockIdx.y * 128, column_0 = blockIdx.x * 128;
    float sums[8][8] = {};
    const auto copy = [&](int ahead, int to) {
        {
            int p = row_0 + thread / 16, d = ahead + thread % 16;
            const float* from = &A[(long long)K * M * blockIdx.z + (long long)K * p + d];
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
            const float* from = &B[(long long)K * N * blockIdx.z + (long long)N * d + p];
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
            if (column_at >= N) continue;
            if (row_at >= M) continue;
            if ((M * N * layers <= M * N * blockIdx.z + N * row_at + column_at)) continue;
            int layer = (blockIdx.z);
            int row = row_at;
            int col = column_at;
            float sum = 0.0f;
            sum += sums[i][j];
            C[(M * N * blockIdx.z + N * row_at + column_at)] = sum;
        }
    }
}

void run_layers(const float* A, const float* B, float* C, int layers, int M, int N, int K) {
    layers_of_products<<<dim3((N + 127) / 128, (M + 127) / 128, layers), 256>>>(A, B, C, layers, M, N, K);
}
// --- scores_by_index applies
__global__ void scores_by_index(const float* q, const float* k, float* s, int heads, int T, int D, float scale) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < heads * T * T) {
        int h = t / (T * T), rest = t % (T * T);
        int i = rest / T, j = rest % T;
        float sum = 0.0f;
        for (int d = 0; d < D; d++) sum += q[(h * T + i) * D + d] * k[(h * T + j) * D + d];
        s[t] = j <= i ? sum * scale : -1e9f;
    }
}

void run_scores(const float* q, const float* k, float* s, int heads, int T, int D) {
    scores_by_index<<<(heads * T * T + 127) / 128, 128>>>(q, k, s, heads, T, D, 0.125f);
}
// --- scores_by_index becomes
__global__ void __launch_bounds__(256, 2) scores_by_index(const float* q, const float* k, float* s, int heads, int T, int D, float scale) {
    // A block computes 128 x 128 outputs, a thread 8 x 8 of them.
    __shared__ __align__(16) float first_tile[2][16][132];
    __shared__ __align__(16) float second_tile[2][16][132];
    const int thread = threadIdx.x;
    const int row_0 = blockIdx.y * 128, column_0 = blockIdx.x * 128;
    float sums[8][8] = {};
    const auto copy = [&](int ahead, int to) {
        {
            int p = row_0 + thread / 16, d_ = ahead + thread % 16;
            const float* from = &q[(long long)D * T * blockIdx.z + (long long)D * p + d_];
            #pragma unroll
            for (int n = 0; n < 8; n++) {
                float* step = &first_tile[to][thread % 16][thread / 16 + n * 16];
    #if __CUDA_ARCH__ >= 800
                asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::
                             "r"((unsigned)__cvta_generic_to_shared(step)), "l"(from),
                             "r"(p < T && d_ < D ? 4 : 0) : "memory");
    #else
                *step = p < T && d_ < D ? *from : 0;
    #endif
                p += 16, from += (long long)D * 16;
            }
        }
        {
            int p = column_0 + thread / 16, d_ = ahead + thread % 16;
            const float* from = &k[(long long)D * T * blockIdx.z + (long long)D * p + d_];
            #pragma unroll
            for (int n = 0; n < 8; n++) {
                float* step = &second_tile[to][thread % 16][thread / 16 + n * 16];
    #if __CUDA_ARCH__ >= 800
                asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::
                             "r"((unsigned)__cvta_generic_to_shared(step)), "l"(from),
                             "r"(p < T && d_ < D ? 4 : 0) : "memory");
    #else
                *step = p < T && d_ < D ? *from : 0;
    #endif
                p += 16, from += (long long)D * 16;
            }
        }
    };
    copy(0, 0);
    for (int depth_0 = 0, tile = 0; depth_0 < D; depth_0 += 16, tile ^= 1) {
    #if __CUDA_ARCH__ >= 800
        asm volatile("cp.async.wait_all;" ::: "memory");
    #endif
        __syncthreads();
        if (depth_0 + 16 < D) copy(depth_0 + 16, tile ^ 1);
        #pragma unroll
        for (int d_ = 0; d_ < 16; d_++) {
            float first[8], second[8];
            #pragma unroll
            for (int i_ = 0; i_ < 8; i_++) {
                first[i_] = first_tile[tile][d_][thread / 16 * 4 + i_ / 4 * 64 + i_ % 4];
            }
            #pragma unroll
            for (int j_ = 0; j_ < 8; j_++) {
                second[j_] = second_tile[tile][d_][thread % 16 * 4 + j_ / 4 * 64 + j_ % 4];
            }
            #pragma unroll
            for (int i_ = 0; i_ < 8; i_++) {
                #pragma unroll
                for (int j_ = 0; j_ < 8; j_++) {
                    sums[i_][j_] += first[i_] * second[j_];
                }
            }
        }
    }
    #pragma unroll
    for (int i_ = 0; i_ < 8; i_++) {
        #pragma unroll
        for (int j_ = 0; j_ < 8; j_++) {
            const int row_at = row_0 + thread / 16 * 4 + i_ / 4 * 64 + i_ % 4;
            const int column_at = column_0 + thread % 16 * 4 + j_ / 4 * 64 + j_ % 4;
            if (column_at >= T) continue;
            if (row_at >= T) continue;
            if ((column_at < T && row_at < T)) {
                int h = (blockIdx.z), rest = (T * T * blockIdx.z + T * row_at + column_at) % (T * T);
                int i = rest / T, j = rest % T;
                float sum = 0.0f;
                sum += sums[i_][j_];
                s[(T * T * blockIdx.z + T * row_at + column_at)] = j <= i ? sum * scale : -1e9f;
            }
        }
    }
}

void run_scores(const float* q, const float* k, float* s, int heads, int T, int D) {
    scores_by_index<<<dim3((T + 127) / 128, (T + 127) / 128, heads), 256>>>(q, k, s, heads, T, D, 0.125f);
}
// --- layers_of_products refuses: no check of its bounds
// Rows are counted to M, and layers begin after another number of them.
__global__ void layers_of_products(const float* A, const float* B, float* C, int layers, int M, int N, int K) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= layers * M * N) return;
    int layer = idx / (K * N), row = (idx / N) % M, col = idx % N;
    float sum = 0.0f;
    for (int k = 0; k < K; k++) sum += A[(layer * M + row) * K + k] * B[(layer * K + k) * N + col];
    C[idx] = sum;
}
void run(const float* A, const float* B, float* C, int layers, int M, int N, int K) {
    layers_of_products<<<(layers * M * N + 127) / 128, 128>>>(A, B, C, layers, M, N, K);
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
// --- distances applies
__global__ void distances(float* out, const float* a, const float* b, int M, int N, int K) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= M * N) return;
    int i = index / N, j = index % N;
    float sum = 0.0f;
    for (int k = 0; k < K; k++) {
        float apart = a[i * K + k] - b[j * K + k];
        sum += apart * apart;
    }
    out[index] = sqrtf(sum);
}

void launch(float* out, const float* a, const float* b, int M, int N, int K) {
    distances<<<(M * N + 255) / 256, 256>>>(out, a, b, M, N, K);
}
// --- distances becomes
__global__ void __launch_bounds__(256, 2) distances(float* out, const float* a, const float* b, int M, int N, int K) {
    // A block computes 128 x 128 outputs, a thread 8 x 8 of them.
    __shared__ __align__(16) float first_tile[2][16][132];
    __shared__ __align__(16) float second_tile[2][16][132];
    const int thread = threadIdx.x;
    const int row_0 = blockIdx.y * 128, column_0 = blockIdx.x * 128;
    float sums[8][8] = {};
    const auto copy = [&](int ahead, int to) {
        {
            int p = row_0 + thread / 16, d = ahead + thread % 16;
            const float* from = &a[(long long)K * M * blockIdx.z + (long long)K * p + d];
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
            int p = column_0 + thread / 16, d = ahead + thread % 16;
            const float* from = &b[(long long)K * p + d];
            #pragma unroll
            for (int n = 0; n < 8; n++) {
                float* step = &second_tile[to][thread % 16][thread / 16 + n * 16];
    #if __CUDA_ARCH__ >= 800
                asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::
                             "r"((unsigned)__cvta_generic_to_shared(step)), "l"(from),
                             "r"(p < N && d < K ? 4 : 0) : "memory");
    #else
                *step = p < N && d < K ? *from : 0;
    #endif
                p += 16, from += (long long)K * 16;
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
            for (int i_ = 0; i_ < 8; i_++) {
                first[i_] = first_tile[tile][d][thread / 16 * 4 + i_ / 4 * 64 + i_ % 4];
            }
            #pragma unroll
            for (int j_ = 0; j_ < 8; j_++) {
                second[j_] = second_tile[tile][d][thread % 16 * 4 + j_ / 4 * 64 + j_ % 4];
            }
            #pragma unroll
            for (int i_ = 0; i_ < 8; i_++) {
                #pragma unroll
                for (int j_ = 0; j_ < 8; j_++) {
                    sums[i_][j_] += (first[i_] - second[j_]) * (first[i_] - second[j_]);
                }
            }
        }
    }
    #pragma unroll
    for (int i_ = 0; i_ < 8; i_++) {
        #pragma unroll
        for (int j_ = 0; j_ < 8; j_++) {
            const int row_at = row_0 + thread / 16 * 4 + i_ / 4 * 64 + i_ % 4;
            const int column_at = column_0 + thread % 16 * 4 + j_ / 4 * 64 + j_ % 4;
            if (column_at >= N) continue;
            if (row_at >= M) continue;
            if ((M * N <= M * N * blockIdx.z + N * row_at + column_at)) continue;
            int i = (M * blockIdx.z + row_at), j = column_at;
            float sum = 0.0f;
            sum += sums[i_][j_];
            out[(M * N * blockIdx.z + N * row_at + column_at)] = sqrtf(sum);
        }
    }
}

void launch(float* out, const float* a, const float* b, int M, int N, int K) {
    distances<<<dim3((N + 127) / 128, (M + 127) / 128), 256>>>(out, a, b, M, N, K);
}
// --- distances refuses: is more than a factor of its own
// What stands beyond the edges would add `by` to each sum.
__global__ void distances(float* out, const float* a, const float* b, int M, int N, int K, float by) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= M * N) return;
    int i = index / N, j = index % N;
    float sum = 0.0f;
    for (int k = 0; k < K; k++) {
        float apart = a[i * K + k] - b[j * K + k] + by;
        sum += apart * apart;
    }
    out[index] = sqrtf(sum);
}

void launch(float* out, const float* a, const float* b, int M, int N, int K, float by) {
    distances<<<(M * N + 255) / 256, 256>>>(out, a, b, M, N, K, by);
}
// --- mixed refuses: is not one that is added up in tiles
// What a template multiplies is rounded before it is added up in another of its types.
template <typename A, typename T>
__global__ void mixed(const A* a, const A* b, T* c, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {
        T acc = 0;
        for (int k = 0; k < K; ++k) acc += a[row * K + k] * b[k * N + col];
        c[row * N + col] = acc;
    }
}
void run(int* a, int* b, float* c, int M, int N, int K) {
    dim3 t(16, 16), g((N + 15) / 16, (M + 15) / 16);
    mixed<int, float><<<g, t>>>(a, b, c, M, N, K);
}
