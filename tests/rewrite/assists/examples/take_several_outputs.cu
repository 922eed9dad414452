// --- convolve_planes applies
#define TAPS 3
__global__ void convolve_planes(float* out, const float* in, const float* weight, int N, int C, int K, int H, int W) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N * K * H * W) {
        int w = i % W;
        int h = i / W % H;
        int k = i / (W * H) % K;
        int n = i / (W * H * K);
        float sum = 0;
        for (int c = 0; c < C; c++)
            for (int r = 0; r < TAPS; r++)
                for (int s = 0; s < TAPS; s++) {
                    int y = h + r - 1, x = w + s - 1;
                    if (y >= 0 && y < H && x >= 0 && x < W)
                        sum += in[((n * C + c) * H + y) * W + x] * weight[((k * C + c) * TAPS + r) * TAPS + s];
                }
        out[i] = sum;
    }
}
void run(float* out, const float* in, const float* weight, int N, int C, int K, int H, int W) {
    convolve_planes<<<(N * K * H * W + 127) / 128, 128>>>(out, in, weight, N, C, K, H, W);
}
// --- convolve_planes becomes
#define TAPS 3
__global__ void convolve_planes(float* out, const float* in, const float* weight, int N, int C, int K, int H, int W) {
    int group = blockIdx.x * blockDim.x + threadIdx.x;
    if ((H * W) > 0 && (H * K * W) > 0 && (H * K * W) % (H * W) == 0 && (H * K * W) / (H * W) % 4 == 0 && (N * K * H * W) % (H * K * W) == 0 && (N * K * H * W) / (H * K * W) % 4 == 0 && K % 4 == 0) {
        if (group < (N * K * H * W) / 16) {
            const int between = group / ((H * K * W) / 4) * 4 * ((H * K * W) / 4) + group % ((H * K * W) / 4);
            const int i = between / (H * W) * 4 * (H * W) + between % (H * W);
            int w = i % W;
            int h = i / W % H;
            int k = i / (W * H) % K;
            int n = i / (W * H * K);
            float sum[16];
            #pragma unroll
            for (int lane = 0; lane < 16; lane++) {
                sum[lane] = 0;
            }
            for (int c = 0; c < C; c++) {
                for (int r = 0; r < TAPS; r++) {
                    for (int s = 0; s < TAPS; s++) {
                        #pragma unroll
                        for (int lane = 0; lane < 16; lane++) {
                            int y = h + r - 1, x = w + s - 1;
                            if (y >= 0 && y < H && x >= 0 && x < W)
                                sum[lane] += in[(((n + (lane / 4)) * C + c) * H + y) * W + x] * weight[(((k + (lane % 4)) * C + c) * TAPS + r) * TAPS + s];
                        }
                    }
                }
            }
            #pragma unroll
            for (int lane = 0; lane < 16; lane++) {
                out[(i + (lane % 4) * (H * W) + (lane / 4) * (H * K * W))] = sum[lane];
            }
        }
    } else {
        for (long long at = group; at < (N * K * H * W); at += (long long)gridDim.x * blockDim.x) {
            const int i = at;
            int w = i % W;
            int h = i / W % H;
            int k = i / (W * H) % K;
            int n = i / (W * H * K);
            float sum = 0;
            for (int c = 0; c < C; c++)
                for (int r = 0; r < TAPS; r++)
                    for (int s = 0; s < TAPS; s++) {
                        int y = h + r - 1, x = w + s - 1;
                        if (y >= 0 && y < H && x >= 0 && x < W)
                            sum += in[((n * C + c) * H + y) * W + x] * weight[((k * C + c) * TAPS + r) * TAPS + s];
                    }
            out[i] = sum;
        }
    }
}
void run(float* out, const float* in, const float* weight, int N, int C, int K, int H, int W) {
    convolve_planes<<<(((N * K * H * W + 127) / 128) + 15) / 16, 128>>>(out, in, weight, N, C, K, H, W);
}
// --- convolve_channels_last applies
__global__ void convolve_channels_last(const float* in, const float* flt, float* out, int N, int H, int W, int Ci, int Co) {
    int gid = blockIdx.x * blockDim.x + threadIdx.x;
    int oh = H - 2, ow = W - 2;
    if (gid < N * oh * ow * Co) {
        int co = gid % Co;
        int t = gid / Co;
        int x = t % ow; t /= ow;
        int y = t % oh; t /= oh;
        float acc = 0.f;
        for (int r = 0; r < 3; r++)
            for (int s = 0; s < 3; s++)
                for (int ci = 0; ci < Ci; ci++)
                    acc += in[((t * H + y + r) * W + x + s) * Ci + ci] * flt[((r * 3 + s) * Ci + ci) * Co + co];
        out[gid] = acc;
    }
}
void run(const float* in, const float* flt, float* out, int N, int H, int W, int Ci, int Co) {
    int n = N * (H - 2) * (W - 2) * Co;
    convolve_channels_last<<<(n + 127) / 128, 128>>>(in, flt, out, N, H, W, Ci, Co);
}
// --- convolve_channels_last becomes
__global__ void convolve_channels_last(const float* in, const float* flt, float* out, int N, int H, int W, int Ci, int Co) {
    int group = blockIdx.x * blockDim.x + threadIdx.x;
    int oh = H - 2, ow = W - 2;
    if (Co > 0 && Co % 4 == 0 && (N * oh * ow * Co) % Co == 0 && (N * oh * ow * Co) / Co % 4 == 0 && (W - 2) % 4 == 0 && reinterpret_cast<size_t>(flt) % 16 == 0) {
        if (group < (N * oh * ow * Co) / 16) {
            const int between = group / (Co / 4) * 4 * (Co / 4) + group % (Co / 4);
            const int gid = 4 * between;
            int co = gid % Co;
            int t = gid / Co;
            int x = t % ow;
            t /= ow;
            int y = t % oh;
            t /= oh;
            float acc[16];
            #pragma unroll
            for (int lane = 0; lane < 16; lane++) {
                acc[lane] = 0.f;
            }
            for (int r = 0; r < 3; r++) {
                for (int s = 0; s < 3; s++) {
                    for (int ci = 0; ci < Ci; ci++) {
                        alignas(16) float four[4]; *reinterpret_cast<float4*>(four) = *reinterpret_cast<const float4*>(&flt[((r * 3 + s) * Ci + ci) * Co + co]);
                        #pragma unroll
                        for (int lane = 0; lane < 16; lane++) {
                            acc[lane] += in[((t * H + y + r) * W + (x + (lane / 4)) + s) * Ci + ci] * four[lane % 4];
                        }
                    }
                }
            }
            #pragma unroll
            for (int lane = 0; lane < 16; lane++) {
                out[(gid + (lane % 4) + (lane / 4) * Co)] = acc[lane];
            }
        }
    } else {
        for (long long at = group; at < (N * oh * ow * Co); at += (long long)gridDim.x * blockDim.x) {
            const int gid = at;
            int co = gid % Co;
            int t = gid / Co;
            int x = t % ow; t /= ow;
            int y = t % oh; t /= oh;
            float acc = 0.f;
            for (int r = 0; r < 3; r++)
                for (int s = 0; s < 3; s++)
                    for (int ci = 0; ci < Ci; ci++)
                        acc += in[((t * H + y + r) * W + x + s) * Ci + ci] * flt[((r * 3 + s) * Ci + ci) * Co + co];
            out[gid] = acc;
        }
    }
}
void run(const float* in, const float* flt, float* out, int N, int H, int W, int Ci, int Co) {
    int n = N * (H - 2) * (W - 2) * Co;
    convolve_channels_last<<<(((n + 127) / 128) + 15) / 16, 128>>>(in, flt, out, N, H, W, Ci, Co);
}
// --- pool_overlapping applies
__global__ void pool_overlapping(const float *input, float *output, int planes, int h, int w, int oh, int ow)
{
    int id = threadIdx.x + blockIdx.x * blockDim.x;
    if (id >= planes * oh * ow) return;
    int ox = id % ow;
    int oy = (id / ow) % oh;
    int p = id / (ow * oh);
    const float *src = input + p * h * w;
    float best = -INFINITY;
    int where = -1;
    for (int dy = 0; dy < 3; dy++) {
        int row = oy * 2 + dy;
        if (dy == h) continue;
        for (int dx = 0; dx < 3; dx++) {
            float v = src[row * w + (ox * 2 + dx)];
            if (!(v > best)) continue;
            best = v;
            where = dy * 3 + dx;
        }
    }
    output[id] = best + 0.125f * where;
}
void run(const float *input, float *output, int planes, int h, int w, int oh, int ow) {
    int n = planes * oh * ow;
    pool_overlapping<<<(n + 127) / 128, 128>>>(input, output, planes, h, w, oh, ow);
}
// --- pool_overlapping becomes
__global__ void pool_overlapping(const float *input, float *output, int planes, int h, int w, int oh, int ow)
{
    int group = threadIdx.x + blockIdx.x * blockDim.x;
    if (ow > 0 && (planes * oh * ow) % ow == 0 && (planes * oh * ow) / ow % 4 == 0 && oh % 4 == 0) {
        if (group < (planes * oh * ow) / 4) {
            const int id = group / ow * 4 * ow + group % ow;
            int ox = id % ow;
            int oy = (id / ow) % oh;
            int p = id / (ow * oh);
            const float *src = input + p * h * w;
            float best[4];
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                best[lane] = -INFINITY;
            }
            int where[4];
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                where[lane] = -1;
            }
            for (int dy = 0; dy < 3; dy++) {
                int row = oy * 2 + dy;
                if (dy == h) continue;
                for (int dx = 0; dx < 3; dx++) {
                    #pragma unroll
                    for (int lane = 0; lane < 4; lane++) {
                        float v = src[(row + lane * 2) * w + (ox * 2 + dx)];
                        if (!(v > best[lane])) continue;
                        best[lane] = v;
                        where[lane] = dy * 3 + dx;
                    }
                }
            }
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                output[(id + lane * ow)] = best[lane] + 0.125f * where[lane];
            }
        }
    } else {
        for (long long at = group; at < (planes * oh * ow); at += (long long)gridDim.x * blockDim.x) {
            const int id = at;
            int ox = id % ow;
            int oy = (id / ow) % oh;
            int p = id / (ow * oh);
            const float *src = input + p * h * w;
            float best = -INFINITY;
            int where = -1;
            for (int dy = 0; dy < 3; dy++) {
                int row = oy * 2 + dy;
                if (dy == h) continue;
                for (int dx = 0; dx < 3; dx++) {
                    float v = src[row * w + (ox * 2 + dx)];
                    if (!(v > best)) continue;
                    best = v;
                    where = dy * 3 + dx;
                }
            }
            output[id] = best + 0.125f * where;
        }
    }
}
void run(const float *input, float *output, int planes, int h, int w, int oh, int ow) {
    int n = planes * oh * ow;
    pool_overlapping<<<(((n + 127) / 128) + 3) / 4, 128>>>(input, output, planes, h, w, oh, ow);
}
// --- mean_of_bags applies
__global__ void mean_of_bags(const double* table, const int* group, const int* starts, double* out, int bags, int dim, int kinds) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= kinds * bags * dim) return;
    int d = t % dim, bag = t / dim % bags;
    int kind = (t - t / (dim * bags) * (dim * bags) == t) ? 0 : t / (dim * bags);
    double s = 0.0;
    for (int k = starts[bag]; k < starts[bag + 1]; k++) s += table[group[k] * dim + d] * (kind + 1);
    out[t] = s;
}
void run(const double* table, const int* group, const int* starts, double* out, int bags, int dim, int kinds) {
    mean_of_bags<<<(kinds * bags * dim + 127) / 128, 128>>>(table, group, starts, out, bags, dim, kinds);
}
// --- mean_of_bags becomes
__global__ void mean_of_bags(const double* table, const int* group, const int* starts, double* out, int bags, int dim, int kinds) {
    int group_ = blockIdx.x * blockDim.x + threadIdx.x;
    if ((bags * dim) > 0 && (kinds * bags * dim) % (bags * dim) == 0 && (kinds * bags * dim) / (bags * dim) % 4 == 0) {
        if (group_ < (kinds * bags * dim) / 4) {
            const int t = group_ / (bags * dim) * 4 * (bags * dim) + group_ % (bags * dim);
            int d = t % dim, bag = t / dim % bags;
            int kind[4];
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                kind[lane] = ((t + lane * (bags * dim)) - (t + lane * (bags * dim)) / (dim * bags) * (dim * bags) == (t + lane * (bags * dim))) ? 0 : (t + lane * (bags * dim)) / (dim * bags);
            }
            double s[4];
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                s[lane] = 0.0;
            }
            for (int k = starts[bag]; k < starts[bag + 1]; k++) {
                #pragma unroll
                for (int lane = 0; lane < 4; lane++) {
                    s[lane] += table[group[k] * dim + d] * (kind[lane] + 1);
                }
            }
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                out[(t + lane * (bags * dim))] = s[lane];
            }
        }
    } else {
        for (long long at = group_; at < (kinds * bags * dim); at += (long long)gridDim.x * blockDim.x) {
            const int t = at;
            int d = t % dim, bag = t / dim % bags;
            int kind = (t - t / (dim * bags) * (dim * bags) == t) ? 0 : t / (dim * bags);
            double s = 0.0;
            for (int k = starts[bag]; k < starts[bag + 1]; k++) s += table[group[k] * dim + d] * (kind + 1);
            out[t] = s;
        }
    }
}
void run(const double* table, const int* group, const int* starts, double* out, int bags, int dim, int kinds) {
    mean_of_bags<<<(((kinds * bags * dim + 127) / 128) + 3) / 4, 128>>>(table, group, starts, out, bags, dim, kinds);
}
// --- bags_by_offsets applies
__global__ void bags_by_offsets(const float* table, const int* group, const float* weight, const int* starts, float* out, int bags, int dim) {
    int gid = blockIdx.x * blockDim.x + threadIdx.x;
    if (gid >= bags * dim) return;
    int b = gid / dim;
    int d = gid - b * dim;
    float acc = 0.f;
    for (int j = starts[b]; j < starts[b + 1]; ++j) acc += weight[j] * table[group[j] * dim + d];
    out[gid] = acc;
}
void run(const float* table, const int* group, const float* weight, const int* starts, float* out, int bags, int dim) {
    bags_by_offsets<<<(bags * dim + 127) / 128, 128>>>(table, group, weight, starts, out, bags, dim);
}
// --- bags_by_offsets becomes
__global__ void bags_by_offsets(const float* table, const int* group, const float* weight, const int* starts, float* out, int bags, int dim) {
    int group_ = blockIdx.x * blockDim.x + threadIdx.x;
    if ((bags * dim) % 4 == 0 && dim % 4 == 0 && reinterpret_cast<size_t>(table) % 16 == 0 && reinterpret_cast<size_t>(out) % 16 == 0) {
        if (group_ < (bags * dim) / 4) {
            const int gid = 4 * group_;
            int b = gid / dim;
            int d = gid - b * dim;
            float acc[4];
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                acc[lane] = 0.f;
            }
            for (int j = starts[b]; j < starts[b + 1]; ++j) {
                alignas(16) float four[4]; *reinterpret_cast<float4*>(four) = *reinterpret_cast<const float4*>(&table[group[j] * dim + d]);
                #pragma unroll
                for (int lane = 0; lane < 4; lane++) {
                    acc[lane] += weight[j] * four[lane];
                }
            }
            alignas(16) float stored[4];
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                stored[lane] = acc[lane];
            }
            *reinterpret_cast<float4*>(&out[gid]) = *reinterpret_cast<float4*>(stored);
        }
    } else {
        for (long long at = group_; at < (bags * dim); at += (long long)gridDim.x * blockDim.x) {
            const int gid = at;
            int b = gid / dim;
            int d = gid - b * dim;
            float acc = 0.f;
            for (int j = starts[b]; j < starts[b + 1]; ++j) acc += weight[j] * table[group[j] * dim + d];
            out[gid] = acc;
        }
    }
}
void run(const float* table, const int* group, const float* weight, const int* starts, float* out, int bags, int dim) {
    bags_by_offsets<<<(((bags * dim + 127) / 128) + 3) / 4, 128>>>(table, group, weight, starts, out, bags, dim);
}
// --- pooled_channels applies
#include <cuda_fp16.h>

__global__ void pooled_channels(__half* out, const __half* in, int images, int high, int wide, int channels, int k) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const int rows = high / k, columns = wide / k;
    if (i < (long long)images * rows * columns * channels) {
        int c = i % channels, left = i / channels;
        int x = left % columns, y = left / columns % rows, n = left / (columns * rows);
        float sum = 0.0f;
        for (int dy = 0; dy < k; dy++)
            for (int dx = 0; dx < k; dx++) {
                int row = y * k + dy - 1;
                if (row >= 0) sum += __half2float(in[((n * high + row) * wide + x * k + dx) * channels + c]);
            }
        out[i] = __float2half(sum / (k * k));
    }
}

void run_pooled_channels(__half* out, const __half* in, int images, int high, int wide, int channels, int k) {
    const int count = images * (high / k) * (wide / k) * channels;
    pooled_channels<<<(count + 127) / 128, 128>>>(out, in, images, high, wide, channels, k);
}
// --- pooled_channels becomes
#include <cuda_fp16.h>

__global__ void pooled_channels(__half* out, const __half* in, int images, int high, int wide, int channels, int k) {
    const long long group = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const int rows = high / k, columns = wide / k;
    if (((long long)images * rows * columns * channels) % 8 == 0 && channels % 8 == 0 && reinterpret_cast<size_t>(in) % 16 == 0 && reinterpret_cast<size_t>(out) % 16 == 0) {
        if (group < ((long long)images * rows * columns * channels) / 8) {
            const long long i = 8 * group;
            int c = i % channels, left = i / channels;
            int x = left % columns, y = left / columns % rows, n = left / (columns * rows);
            float sum[8];
            #pragma unroll
            for (int lane = 0; lane < 8; lane++) {
                sum[lane] = 0.0f;
            }
            for (int dy = 0; dy < k; dy++) {
                for (int dx = 0; dx < k; dx++) {
                    int row = y * k + dy - 1;
                    if (row >= 0) {
                        alignas(16) __half eight[8]; *reinterpret_cast<uint4*>(eight) = *reinterpret_cast<const uint4*>(&in[((n * high + row) * wide + x * k + dx) * channels + c]);
                        #pragma unroll
                        for (int lane = 0; lane < 8; lane++) {
                            sum[lane] += __half2float(eight[lane]);
                        }
                    }
                }
            }
            alignas(16) __half stored[8];
            #pragma unroll
            for (int lane = 0; lane < 8; lane++) {
                stored[lane] = __float2half(sum[lane] / (k * k));
            }
            *reinterpret_cast<uint4*>(&out[i]) = *reinterpret_cast<uint4*>(stored);
        }
    } else {
        for (long long at = group; at < ((long long)images * rows * columns * channels); at += (long long)gridDim.x * blockDim.x) {
            const long long i = at;
            int c = i % channels, left = i / channels;
            int x = left % columns, y = left / columns % rows, n = left / (columns * rows);
            float sum = 0.0f;
            for (int dy = 0; dy < k; dy++)
                for (int dx = 0; dx < k; dx++) {
                    int row = y * k + dy - 1;
                    if (row >= 0) sum += __half2float(in[((n * high + row) * wide + x * k + dx) * channels + c]);
                }
            out[i] = __float2half(sum / (k * k));
        }
    }
}

void run_pooled_channels(__half* out, const __half* in, int images, int high, int wide, int channels, int k) {
    const int count = images * (high / k) * (wide / k) * channels;
    pooled_channels<<<(((count + 127) / 128) + 7) / 8, 128>>>(out, in, images, high, wide, channels, k);
}
// --- pooled_maps applies
__global__ void pooled_maps(float* out, const float* in, int maps, int h, int w) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (size_t)maps * h * w) return;
    int map = i / ((size_t)h * w), x = i % w;
    float sum = 0.0f;
    for (int k = 0; k < 3; k++) { sum += in[k * w + x] * (map + k); }
    out[i] = sum;
}
void pool(float* out, const float* in, int maps, int h, int w) {
    pooled_maps<<<(maps * h * w + 255) / 256, 256>>>(out, in, maps, h, w);
}
// --- pooled_maps becomes
__global__ void pooled_maps(float* out, const float* in, int maps, int h, int w) {
    size_t group = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (w > 0 && ((long long)h * w) > 0 && ((long long)h * w) % w == 0 && ((long long)h * w) / w % 4 == 0 && ((size_t)maps * h * w) % ((long long)h * w) == 0 && ((size_t)maps * h * w) / ((long long)h * w) % 4 == 0 && h % 4 == 0) {
        if (group < ((size_t)maps * h * w) / 16) {
            const size_t between = group / (((long long)h * w) / 4) * 4 * (((long long)h * w) / 4) + group % (((long long)h * w) / 4);
            const size_t i = between / w * 4 * w + between % w;
            int map = i / ((size_t)h * w), x = i % w;
            float sum[16];
            #pragma unroll
            for (int lane = 0; lane < 16; lane++) {
                sum[lane] = 0.0f;
            }
            for (int k = 0; k < 3; k++) {
                #pragma unroll
                for (int lane = 0; lane < 16; lane++) {
                    sum[lane] += in[k * w + x] * ((map + (lane / 4)) + k);
                }
            }
            #pragma unroll
            for (int lane = 0; lane < 16; lane++) {
                out[(i + (lane % 4) * w + (lane / 4) * ((long long)h * w))] = sum[lane];
            }
        }
    } else {
        for (size_t at = group; at < ((size_t)maps * h * w); at += (size_t)gridDim.x * blockDim.x) {
            const size_t i = at;
            int map = i / ((size_t)h * w), x = i % w;
            float sum = 0.0f;
            for (int k = 0; k < 3; k++) { sum += in[k * w + x] * (map + k); }
            out[i] = sum;
        }
    }
}
void pool(float* out, const float* in, int maps, int h, int w) {
    pooled_maps<<<(((maps * h * w + 255) / 256) + 15) / 16, 256>>>(out, in, maps, h, w);
}
// --- looped refuses: may differ from element to element
__global__ void looped(float* y, const float* x, const int* starts, int rows, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * width) return;
    int r = i / width, c = i % width;
    float sum = 0;
    for (int k = starts[r]; k < starts[r + 1]; k++) {
        if (x[k * width + c] > 0) { sum += x[k * width + c + 1]; }
    }
    y[i] = sum;
}
void run(float* y, const float* x, const int* starts, int rows, int width) {
    looped<<<(rows * width + 127) / 128, 128>>>(y, x, starts, rows, width);
}
// --- looped refuses: ends a loop for one element
__global__ void looped(float* y, const float* x, int rows, int width, int many) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * width) return;
    int r = i / width, c = i % width;
    float sum = 0;
    for (int k = 0; k < many; k++) {
        if (x[k * width + c] < 0) break;
        sum += x[(r * many + k) * width + c];
    }
    y[i] = sum;
}
void run(float* y, const float* x, int rows, int width, int many) {
    looped<<<(rows * width + 127) / 128, 128>>>(y, x, rows, width, many);
}
// --- looped refuses: the macro PLACE uses `r`
#define PLACE(k) ((r * many + (k)) * width)
__global__ void looped(float* y, const float* x, int rows, int width, int many) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * width) return;
    int r = i / width, c = i % width;
    float sum = 0;
    for (int k = 0; k < many; k++) { sum += x[PLACE(k) + c]; }
    y[i] = sum;
}
void run(float* y, const float* x, int rows, int width, int many) {
    looped<<<(rows * width + 127) / 128, 128>>>(y, x, rows, width, many);
}
// --- looped refuses: is not taken apart into digits
__global__ void looped(float* y, const float* x, int n, int many) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < many; k++) { sum += x[k * n + i]; }
    y[i] = sum;
}
void run(float* y, const float* x, int n, int many) { looped<<<(n + 127) / 128, 128>>>(y, x, n, many); }
// --- looped refuses: uses blockDim beside
__global__ void looped(float* y, const float* x, int rows, int width, int many) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * width) return;
    int r = i / width, c = i % width;
    float sum = blockDim.x;
    for (int k = 0; k < many; k++) { sum += x[(r * many + k) * width + c]; }
    y[i] = sum;
}
void run(float* y, const float* x, int rows, int width, int many) {
    looped<<<(rows * width + 127) / 128, 128>>>(y, x, rows, width, many);
}
// --- looped refuses: is declared twice
__global__ void looped(float* y, const float* x, int rows, int width, int many) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * width) return;
    int r = i / width, c = i % width;
    float sum = 0;
    for (int k = 0; k < many; k++) { int c = k; sum += x[r * many + c]; }
    y[i] = sum + c;
}
void run(float* y, const float* x, int rows, int width, int many) {
    looped<<<(rows * width + 127) / 128, 128>>>(y, x, rows, width, many);
}
// --- looped refuses: is no plain variable
__global__ void looped(float* y, const float* x, int rows, int width, int many) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * width) return;
    int r = i / width, c = i % width;
    float sum[2] = {0, 0};
    for (int k = 0; k < many; k++) { sum[k % 2] += x[(r * many + k) * width + c]; }
    y[i] = sum[0] + sum[1];
}
void run(float* y, const float* x, int rows, int width, int many) {
    looped<<<(rows * width + 127) / 128, 128>>>(y, x, rows, width, many);
}
// --- looped refuses: is changed for one element
__global__ void looped(float* y, const float* x, int rows, int width, int many) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * width) return;
    int r = i / width, c = i % width;
    many -= r % 2;
    float sum = 0;
    for (int k = 0; k < many; k++) { sum += x[k * width + c]; }
    y[i] = sum;
}
void run(float* y, const float* x, int rows, int width, int many) {
    looped<<<(rows * width + 127) / 128, 128>>>(y, x, rows, width, many);
}
// --- nearest applies
__global__ void nearest(int *label, const float *points, const float *centres, int n, int k, int dim) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p < n) {
        float least = 1e30f;
        int best = 0;
        for (int c = 0; c < k; c++) {
            float d = 0.0f;
            for (int j = 0; j < dim; j++) {
                float t = points[p * dim + j] - centres[c * dim + j];
                d += t * t;
            }
            if (d < least) {
                least = d;
                best = c;
            }
        }
        label[p] = best;
    }
}
void run(int *label, const float *points, const float *centres, int n, int k, int dim) {
    nearest<<<(n + 127) / 128, 128>>>(label, points, centres, n, k, dim);
}
// --- nearest becomes
__global__ void nearest(int *label, const float *points, const float *centres, int n, int k, int dim) {
    int group = blockIdx.x * blockDim.x + threadIdx.x;
    if (n % 4 == 0) {
        if (group < n / 4) {
            const int p = 4 * group;
            float least[4];
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                least[lane] = 1e30f;
            }
            int best[4];
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                best[lane] = 0;
            }
            for (int c = 0; c < k; c++) {
                float d[4];
                #pragma unroll
                for (int lane = 0; lane < 4; lane++) {
                    d[lane] = 0.0f;
                }
                for (int j = 0; j < dim; j++) {
                    #pragma unroll
                    for (int lane = 0; lane < 4; lane++) {
                        float t = points[(p + lane) * dim + j] - centres[c * dim + j];
                        d[lane] += t * t;
                    }
                }
                #pragma unroll
                for (int lane = 0; lane < 4; lane++) {
                    if (d[lane] < least[lane]) {
                        least[lane] = d[lane];
                        best[lane] = c;
                    }
                }
            }
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                label[(p + lane)] = best[lane];
            }
        }
    } else {
        for (long long at = group; at < n; at += (long long)gridDim.x * blockDim.x) {
            const int p = at;
            float least = 1e30f;
            int best = 0;
            for (int c = 0; c < k; c++) {
                float d = 0.0f;
                for (int j = 0; j < dim; j++) {
                    float t = points[p * dim + j] - centres[c * dim + j];
                    d += t * t;
                }
                if (d < least) {
                    least = d;
                    best = c;
                }
            }
            label[p] = best;
        }
    }
}
void run(int *label, const float *points, const float *centres, int n, int k, int dim) {
    nearest<<<(((n + 127) / 128) + 3) / 4, 128>>>(label, points, centres, n, k, dim);
}
// --- longest refuses: not taken apart into digits
// Rows have nothing in common that a thread could read once.
__global__ void longest(float *y, const float *x, int n, int dim) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p < n) {
        float sum = 0.0f;
        for (int j = 0; j < dim; j++) {
            sum += x[p * dim + j];
        }
        y[p] = sum;
    }
}
void run(float *y, const float *x, int n, int dim) {
    longest<<<(n + 127) / 128, 128>>>(y, x, n, dim);
}
