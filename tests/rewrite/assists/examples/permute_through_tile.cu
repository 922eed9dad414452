// --- channels_last applies
__global__ void channels_last(const float* in, float* out, int N, int C, int P) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N * C * P) return;
    int p = i % P;
    int c = (i / P) % C;
    int n = i / (P * C);
    // Channels lie side by side.
    out[((size_t)n * P + p) * C + c] = in[i];
}
void run(const float* in, float* out, int N, int C, int P) {
    channels_last<<<(N * C * P + 127) / 128, 128>>>(in, out, N, C, P);
}
// --- channels_last becomes
__global__ void channels_last(const float* in, float* out, int N, int C, int P) {
    // Tiles of 32 x 32: along what lies side by side before, and along what does afterwards.
    __shared__ float tile[32][33];
    const int lane = threadIdx.x % 32, line = threadIdx.x / 32;
    const long long inner = P;
    const long long count = C;
    const long long across = (inner + 31) / 32;
    const long long down = (count + 31) / 32;
    const long long layers = (N * C * P + inner * count - 1) / (inner * count);
    for (long long block = blockIdx.x; block < layers * across * down; block += gridDim.x) {
        const long long rest = block % across * 32;
        const long long digit = block / across % down * 32;
        const long long outer = block / (across * down);
        const long long start = (outer * count + digit) * inner + rest;
        int i = (int)start;
        int p = i % P;
        int c = (i / P) % C;
        int n = i / (P * C);
        const long long out_at = ((size_t)n * P + p) * C + c;
        const long long in_at = i;
        #pragma unroll 4
        for (int n_ = line; n_ < 32; n_ += blockDim.x / 32) {
            const long long at = start + n_ * inner + lane;
            if (lane < inner - rest && n_ < count - digit && at < N * C * P) {
                tile[n_][lane] = in[in_at + n_ * P + lane];
            }
        }
        __syncthreads();
        #pragma unroll 4
        for (int n_ = line; n_ < 32; n_ += blockDim.x / 32) {
            const long long at = start + lane * inner + n_;
            if (n_ < inner - rest && lane < count - digit && at < N * C * P) {
                out[out_at + lane + n_ * C] = tile[lane][n_];
            }
        }
        __syncthreads();
    }
}
void run(const float* in, float* out, int N, int C, int P) {
    channels_last<<<(((N * C * P + 127) / 128) + 7) / 8, 128>>>(in, out, N, C, P);
}
// --- heads_first applies
#include <cuda_fp16.h>
__global__ void heads_first(half* out, const half* in, const float* scale, int T, int H, int D, size_t total) {
    const size_t idx = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (total > idx) {
        size_t left = idx;
        const int t = left % T; left /= T;
        const int d = left % D; left /= D;
        const int h = left % H; left /= H;
        const float v = __half2float(in[((left * T + t) * H + h) * D + d]);
        out[idx] = __float2half(v * scale[h]);
    }
}
void run(half* out, const half* in, const float* scale, int T, int H, int D, size_t total) {
    heads_first<<<(total + 255) / 256, 256>>>(out, in, scale, T, H, D, total);
}
// --- heads_first becomes
#include <cuda_fp16.h>
__global__ void heads_first(half* out, const half* in, const float* scale, int T, int H, int D, size_t total) {
    // Tiles of 64 x 64: along what lies side by side before, and along what does afterwards.
    __shared__ half tile[64][66];
    const int lane = threadIdx.x % 64, line = threadIdx.x / 64;
    const long long inner = T;
    const long long count = D;
    const long long across = (inner + 63) / 64;
    const long long down = (count + 63) / 64;
    const long long layers = (total + inner * count - 1) / (inner * count);
    for (long long block = blockIdx.x; block < layers * across * down; block += gridDim.x) {
        const long long rest = block % across * 64;
        const long long digit = block / across % down * 64;
        const long long outer = block / (across * down);
        const long long start = (outer * count + digit) * inner + rest;
        const size_t idx = (size_t)start;
        size_t left = idx;
        const int t = left % T;
        left /= T;
        const int d = left % D;
        left /= D;
        const int h = left % H;
        left /= H;
        const long long in_at = ((left * T + t) * H + h) * D + d;
        const long long out_at = idx;
        const long long scale_at = h;
        #pragma unroll 4
        for (int n = line; n < 64; n += blockDim.x / 64) {
            const long long at = start + lane * inner + n;
            if (n < inner - rest && lane < count - digit && at < total) {
                tile[lane][n] = in[in_at + lane + n * ((long long)D * H)];
            }
        }
        __syncthreads();
        #pragma unroll 4
        for (int n = line; n < 64; n += blockDim.x / 64) {
            const long long at = start + n * inner + lane;
            if (lane < inner - rest && n < count - digit && at < total) {
                const float v = __half2float(tile[n][lane]);
                out[out_at + n * T + lane] = __float2half(v * scale[scale_at]);
            }
        }
        __syncthreads();
    }
}
void run(half* out, const half* in, const float* scale, int T, int H, int D, size_t total) {
    heads_first<<<(((total + 255) / 256) + 15) / 16, 256>>>(out, in, scale, T, H, D, total);
}
// --- turned applies
__global__ void turned(const int* in, int* out, int rows, int columns) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * columns) {
        out[(i % columns) * rows + i / columns] = in[i];
    }
}
void run(const int* in, int* out, int rows, int columns) {
    turned<<<(rows * columns + 63) / 64, 64>>>(in, out, rows, columns);
}
// --- turned becomes
__global__ void turned(const int* in, int* out, int rows, int columns) {
    // Tiles of 32 x 32: along what lies side by side before, and along what does afterwards.
    __shared__ int tile[32][33];
    const int lane = threadIdx.x % 32, line = threadIdx.x / 32;
    const long long inner = columns;
    const long long count = (rows * columns + inner - 1) / inner;
    const long long across = (inner + 31) / 32;
    const long long down = (count + 31) / 32;
    const long long layers = (rows * columns + inner * count - 1) / (inner * count);
    for (long long block = blockIdx.x; block < layers * across * down; block += gridDim.x) {
        const long long rest = block % across * 32;
        const long long digit = block / across % down * 32;
        const long long outer = block / (across * down);
        const long long start = (outer * count + digit) * inner + rest;
        const unsigned i = (unsigned)start;
        const long long out_at = (i % columns) * rows + i / columns;
        const long long in_at = i;
        #pragma unroll 4
        for (int n = line; n < 32; n += blockDim.x / 32) {
            const long long at = start + n * inner + lane;
            if (lane < inner - rest && n < count - digit && at < rows * columns) {
                tile[n][lane] = in[in_at + n * columns + lane];
            }
        }
        __syncthreads();
        #pragma unroll 4
        for (int n = line; n < 32; n += blockDim.x / 32) {
            const long long at = start + lane * inner + n;
            if (n < inner - rest && lane < count - digit && at < rows * columns) {
                out[out_at + lane + n * rows] = tile[lane][n];
            }
        }
        __syncthreads();
    }
}
void run(const int* in, int* out, int rows, int columns) {
    turned<<<(((rows * columns + 63) / 64) + 15) / 16, 64>>>(in, out, rows, columns);
}
// --- moved refuses: not one access runs along the flat index and one across it
__global__ void moved(const float* in, float* out, int N, int C, int P) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N * C * P) {
        int p = i % P, c = i / P % C, n = i / (P * C);
        out[(n * P + p) * C + c] = in[(n * P + p) * C + c];
    }
}
void run(const float* in, float* out, int N, int C, int P) { moved<<<(N * C * P + 127) / 128, 128>>>(in, out, N, C, P); }
// --- moved refuses: is read as well as written
__global__ void moved(const float* in, float* out, int N, int C, int P) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N * C * P) {
        int p = i % P, c = i / P % C, n = i / (P * C);
        out[(n * P + p) * C + c] = in[i] + out[i];
    }
}
void run(const float* in, float* out, int N, int C, int P) { moved<<<(N * C * P + 127) / 128, 128>>>(in, out, N, C, P); }
// --- moved refuses: is not to declare values and to store one of them
__global__ void moved(const float* in, float* out, int N, int C, int P) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N * C * P) {
        int p = i % P, c = i / P % C, n = i / (P * C);
        if (p > 0) { out[(n * P + p) * C + c] = in[i]; }
    }
}
void run(const float* in, float* out, int N, int C, int P) { moved<<<(N * C * P + 127) / 128, 128>>>(in, out, N, C, P); }
// --- moved refuses: changes something on the way
__global__ void moved(const float* in, float* out, int N, int C, int P) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N * C * P) {
        int p = i % P, c = i / P % C, n = i / (P * C);
        out[(n * P + p) * C + (c = c + 0)] = in[i];
    }
}
void run(const float* in, float* out, int N, int C, int P) { moved<<<(N * C * P + 127) / 128, 128>>>(in, out, N, C, P); }
// --- moved refuses: does more with its thread
__global__ void moved(const float* in, float* out, int N, int C, int P) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N * C * P) {
        int p = i % P, c = i / P % C, n = i / (P * C);
        out[(n * P + p) * C + c] = in[i] + threadIdx.x;
    }
}
void run(const float* in, float* out, int N, int C, int P) { moved<<<(N * C * P + 127) / 128, 128>>>(in, out, N, C, P); }
// --- moved refuses: `in[(n * P + p++) * C + c]` changes something
__global__ void moved(const float* in, float* out, int N, int C, int P) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N * C * P) {
        int p = i % P, c = i / P % C, n = i / (P * C);
        float v = in[(n * P + p++) * C + c];
        out[i] = v + p;
    }
}
void run(const float* in, float* out, int N, int C, int P) { moved<<<(N * C * P + 127) / 128, 128>>>(in, out, N, C, P); }
