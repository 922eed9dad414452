// --- attend applies
#include <cuda_fp16.h>

__device__ float most_of(float v, float* room) {
    room[threadIdx.x] = v;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) { room[threadIdx.x] = fmaxf(room[threadIdx.x], room[threadIdx.x + s]); }
        __syncthreads();
    }
    const float most = room[0];
    __syncthreads();
    return most;
}

__global__ void attend(half* out, const half* q, const half* k, const half* v, int count) {
    __shared__ float weights[256];
    __shared__ float room[64];
    const int tid = threadIdx.x;
    q += blockIdx.x * 64;
    k += blockIdx.x * count * 64;
    const half* values = v + blockIdx.x * count * 64;
    float best = -1e30f;
    for (int t = tid; t < count; t += blockDim.x) {
        const half* key = k + t * 64;
        float dot = 0.0f;
        for (int d = 0; d < 64; ++d) {
            dot += __half2float(q[d]) * __half2float(key[d]);
        }
        weights[t] = dot * 0.125f;
        best = fmaxf(best, dot * 0.125f);
    }
    best = most_of(best, room);
    float total = 0.0f;
    for (int t = 0; t < count; t++) { total += expf(weights[t] - best); }
    float sum = 0.0f;
    for (int t = 0; t < count; t++) {
        const float weight = expf(weights[t] - best) / total;
        sum += weight * __half2float(values[t * 64 + tid]);
    }
    out[blockIdx.x * 64 + tid] = __float2half(sum);
}

void run_attend(half* out, const half* q, const half* k, const half* v, int rows, int count) {
    attend<<<rows, 64>>>(out, q, k, v, count);
}
// --- attend becomes
#include <cuda_fp16.h>

__device__ float most_of(float v, float* room) {
    room[threadIdx.x] = v;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) { room[threadIdx.x] = fmaxf(room[threadIdx.x], room[threadIdx.x + s]); }
        __syncthreads();
    }
    const float most = room[0];
    __syncthreads();
    return most;
}

__global__ void attend(half* out, const half* q, const half* k, const half* v, int count) {
    __shared__ float weights[256];
    __shared__ float room[64];
    const int tid = threadIdx.x;
    q += blockIdx.x * 64;
    k += blockIdx.x * count * 64;
    const half* values = v + blockIdx.x * count * 64;
    float best = -1e30f;
    const int lane = threadIdx.x % 32;
    for (int t = tid; t - lane < count; t += blockDim.x) {
        // 8 lanes read each of their rows side by side; in the end each one has the sum of its own.
        float dot_parts[8] = {};
        {
            const int first = t - lane % 8;
            bool wide = true;
            #pragma unroll
            for (int mate = 0; mate < 8; mate++) {
                const int t = first + mate < count ? first + mate : count - 1;
                const half* key = k + t * 64;
                wide = wide && (reinterpret_cast<size_t>(q) | reinterpret_cast<size_t>(key)) % 16 == 0;
            }
            const int groups = wide ? 64 / 8 : 0;
            for (int group = lane % 8; group < groups; group += 8) {
                #pragma unroll
                for (int mate = 0; mate < 8; mate++) {
                    const int t = first + mate < count ? first + mate : count - 1;
                    const half* key = k + t * 64;
                    alignas(16) half q_group[8];
                    *reinterpret_cast<uint4*>(q_group) = reinterpret_cast<const uint4*>(q)[group];
                    alignas(16) half key_group[8];
                    *reinterpret_cast<uint4*>(key_group) = reinterpret_cast<const uint4*>(key)[group];
                    #pragma unroll
                    for (int place = 0; place < 8; place++) {
                        dot_parts[mate] += __half2float(q_group[place]) * __half2float(key_group[place]);
                    }
                }
            }
            for (int d = 8 * groups + lane % 8; d < 64; d += 8) {
                #pragma unroll
                for (int mate = 0; mate < 8; mate++) {
                    const int t = first + mate < count ? first + mate : count - 1;
                    const half* key = k + t * 64;
                    dot_parts[mate] += __half2float(q[d]) * __half2float(key[d]);
                }
            }
            #pragma unroll
            for (int place = 0; place < 4; place++) {
                const float away = lane & 4 ? dot_parts[place] : dot_parts[place + 4];
                dot_parts[place] = lane & 4 ? dot_parts[place + 4] : dot_parts[place];
                dot_parts[place] += __shfl_xor_sync(0xffffffff, away, 4);
            }
            #pragma unroll
            for (int place = 0; place < 2; place++) {
                const float away = lane & 2 ? dot_parts[place] : dot_parts[place + 2];
                dot_parts[place] = lane & 2 ? dot_parts[place + 2] : dot_parts[place];
                dot_parts[place] += __shfl_xor_sync(0xffffffff, away, 2);
            }
            {
                const float away = lane & 1 ? dot_parts[0] : dot_parts[1];
                dot_parts[0] = lane & 1 ? dot_parts[1] : dot_parts[0];
                dot_parts[0] += __shfl_xor_sync(0xffffffff, away, 1);
            }
        }
        if (t < count) {
            const half* key = k + t * 64;
            float dot = 0.0f;
            dot += dot_parts[0];
            weights[t] = dot * 0.125f;
            best = fmaxf(best, dot * 0.125f);
        }
    }
    best = most_of(best, room);
    float total = 0.0f;
    for (int t = 0; t < count; t++) { total += expf(weights[t] - best); }
    float sum = 0.0f;
    {
        const int lane = threadIdx.x % 32;
        bool wide = (tid - lane) % 32 == 0;
        for (int t = 0; t < 2; t++) {
            wide = wide && reinterpret_cast<size_t>(&values[t * 64]) % 16 == 0;
        }
        if (wide) {
            // A lane takes 8 columns of every 8th row; shuffles hand each one the sum of its own.
            const int group = (tid - lane) / 8 + lane % 4;
            float sum_parts[8] = {};
            #pragma unroll 4
            for (int t = lane / 4; t < count; t += 8) {
                alignas(16) half values_group[8];
                *reinterpret_cast<uint4*>(values_group) = reinterpret_cast<const uint4*>(&values[t * 64])[group];
                #pragma unroll
                for (int place = 0; place < 8; place++) {
                    const float weight = expf(weights[t] - best) / total;
                    sum_parts[place] += weight * __half2float(values_group[place]);
                }
            }
            #pragma unroll
            for (int place = 0; place < 4; place++) {
                const float away = lane & 16 ? sum_parts[place] : sum_parts[place + 4];
                sum_parts[place] = lane & 16 ? sum_parts[place + 4] : sum_parts[place];
                sum_parts[place] += __shfl_xor_sync(0xffffffff, away, 16);
            }
            #pragma unroll
            for (int place = 0; place < 2; place++) {
                const float away = lane & 8 ? sum_parts[place] : sum_parts[place + 2];
                sum_parts[place] = lane & 8 ? sum_parts[place + 2] : sum_parts[place];
                sum_parts[place] += __shfl_xor_sync(0xffffffff, away, 8);
            }
            {
                const float away = lane & 4 ? sum_parts[0] : sum_parts[1];
                sum_parts[0] = lane & 4 ? sum_parts[1] : sum_parts[0];
                sum_parts[0] += __shfl_xor_sync(0xffffffff, away, 4);
            }
            sum += __shfl_sync(0xffffffff, sum_parts[0], lane % 8 * 4 + lane / 8);
        } else {
            for (int t = 0; t < count; t++) {
                const float weight = expf(weights[t] - best) / total;
                sum += weight * __half2float(values[t * 64 + tid]);
            }
        }
    }
    out[blockIdx.x * 64 + tid] = __float2half(sum);
}

void run_attend(half* out, const half* q, const half* k, const half* v, int rows, int count) {
    attend<<<rows, 64>>>(out, q, k, v, count);
}
// --- distances_to applies
__global__ void distances_to(float* __restrict__ out, const float* __restrict__ x, const float* __restrict__ to, int n, int dims) {
    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float far = 0.0f, along = 1.0f;
        for (int d = 0; d < dims; d++) {
            float apart = x[i * dims + d] - to[d];
            far += apart * apart;
            along += x[i * dims + d] * to[d];
        }
        out[2 * i] = sqrtf(far);
        out[2 * i + 1] = along;
    }
}

void run_distances_to(float* out, const float* x, const float* to, int n, int dims) {
    distances_to<<<32, 128>>>(out, x, to, n, dims);
}
// --- distances_to becomes
__global__ void distances_to(float* __restrict__ out, const float* __restrict__ x, const float* __restrict__ to, int n, int dims) {
    const int lane = threadIdx.x % 32;
    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i - lane < n; i += gridDim.x * blockDim.x) {
        // 8 lanes read each of their rows side by side; in the end each one has the sum of its own.
        float along_parts[8] = {};
        float far_parts[8] = {};
        {
            const long long first = i - lane % 8;
            bool wide = true;
            #pragma unroll
            for (int mate = 0; mate < 8; mate++) {
                const long long i = first + mate < n ? first + mate : n - 1;
                wide = wide && (reinterpret_cast<size_t>(&x[i * dims]) | reinterpret_cast<size_t>(to)) % 16 == 0;
            }
            const int groups = wide ? dims / 4 : 0;
            for (int quad = lane % 8; quad < groups; quad += 8) {
                #pragma unroll
                for (int mate = 0; mate < 8; mate++) {
                    const long long i = first + mate < n ? first + mate : n - 1;
                    alignas(16) float x_quad[4];
                    *reinterpret_cast<float4*>(x_quad) = reinterpret_cast<const float4*>(&x[i * dims])[quad];
                    alignas(16) float to_quad[4];
                    *reinterpret_cast<float4*>(to_quad) = reinterpret_cast<const float4*>(to)[quad];
                    #pragma unroll
                    for (int place = 0; place < 4; place++) {
                        float apart = x_quad[place] - to_quad[place];
                        far_parts[mate] += apart * apart;
                        along_parts[mate] += x_quad[place] * to_quad[place];
                    }
                }
            }
            for (int d = 4 * groups + lane % 8; d < dims; d += 8) {
                #pragma unroll
                for (int mate = 0; mate < 8; mate++) {
                    const long long i = first + mate < n ? first + mate : n - 1;
                    float apart = x[i * dims + d] - to[d];
                    far_parts[mate] += apart * apart;
                    along_parts[mate] += x[i * dims + d] * to[d];
                }
            }
            #pragma unroll
            for (int place = 0; place < 4; place++) {
                const float away = lane & 4 ? along_parts[place] : along_parts[place + 4];
                along_parts[place] = lane & 4 ? along_parts[place + 4] : along_parts[place];
                along_parts[place] += __shfl_xor_sync(0xffffffff, away, 4);
            }
            #pragma unroll
            for (int place = 0; place < 4; place++) {
                const float away = lane & 4 ? far_parts[place] : far_parts[place + 4];
                far_parts[place] = lane & 4 ? far_parts[place + 4] : far_parts[place];
                far_parts[place] += __shfl_xor_sync(0xffffffff, away, 4);
            }
            #pragma unroll
            for (int place = 0; place < 2; place++) {
                const float away = lane & 2 ? along_parts[place] : along_parts[place + 2];
                along_parts[place] = lane & 2 ? along_parts[place + 2] : along_parts[place];
                along_parts[place] += __shfl_xor_sync(0xffffffff, away, 2);
            }
            #pragma unroll
            for (int place = 0; place < 2; place++) {
                const float away = lane & 2 ? far_parts[place] : far_parts[place + 2];
                far_parts[place] = lane & 2 ? far_parts[place + 2] : far_parts[place];
                far_parts[place] += __shfl_xor_sync(0xffffffff, away, 2);
            }
            {
                const float away = lane & 1 ? along_parts[0] : along_parts[1];
                along_parts[0] = lane & 1 ? along_parts[1] : along_parts[0];
                along_parts[0] += __shfl_xor_sync(0xffffffff, away, 1);
            }
            {
                const float away = lane & 1 ? far_parts[0] : far_parts[1];
                far_parts[0] = lane & 1 ? far_parts[1] : far_parts[0];
                far_parts[0] += __shfl_xor_sync(0xffffffff, away, 1);
            }
        }
        if (i < n) {
            float far = 0.0f, along = 1.0f;
            along += along_parts[0]; far += far_parts[0];
            out[2 * i] = sqrtf(far);
            out[2 * i + 1] = along;
        }
    }
}

void run_distances_to(float* out, const float* x, const float* to, int n, int dims) {
    distances_to<<<32, 128>>>(out, x, to, n, dims);
}
// --- mixed applies
__global__ void mixed(float* out, const float* x, const float* weights, int rows, int cols) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= cols) return;
    float sum = out[col];
    for (int r = 1; r <= rows; r++) { sum += weights[r - 1] * x[(r - 1) * cols + col]; }
    out[col] = sum;
}

void run_mixed(float* out, const float* x, const float* weights, int rows, int cols) {
    mixed<<<(cols + 63) / 64, 64>>>(out, x, weights, rows, cols);
}
// --- mixed becomes
__global__ void mixed(float* out, const float* x, const float* weights, int rows, int cols) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= cols) return;
    float sum = out[col];
    {
        const int lane = threadIdx.x % 32;
        bool wide = (col - lane) % 32 == 0 && cols % 32 == 0;
        for (int r = 1; r < 1 + 2; r++) {
            wide = wide && reinterpret_cast<size_t>(&x[(r - 1) * cols]) % 16 == 0;
        }
        if (wide) {
            // A lane takes 4 columns of every 4th row; shuffles hand each one the sum of its own.
            const int quad = (col - lane) / 4 + lane % 8;
            float sum_parts[4] = {};
            #pragma unroll 4
            for (int r = 1 + lane / 8; r <= rows; r += 4) {
                alignas(16) float x_quad[4];
                *reinterpret_cast<float4*>(x_quad) = reinterpret_cast<const float4*>(&x[(r - 1) * cols])[quad];
                #pragma unroll
                for (int place = 0; place < 4; place++) {
                    sum_parts[place] += weights[r - 1] * x_quad[place];
                }
            }
            #pragma unroll
            for (int place = 0; place < 2; place++) {
                const float away = lane & 16 ? sum_parts[place] : sum_parts[place + 2];
                sum_parts[place] = lane & 16 ? sum_parts[place + 2] : sum_parts[place];
                sum_parts[place] += __shfl_xor_sync(0xffffffff, away, 16);
            }
            {
                const float away = lane & 8 ? sum_parts[0] : sum_parts[1];
                sum_parts[0] = lane & 8 ? sum_parts[1] : sum_parts[0];
                sum_parts[0] += __shfl_xor_sync(0xffffffff, away, 8);
            }
            sum += __shfl_sync(0xffffffff, sum_parts[0], lane % 4 * 8 + lane / 4);
        } else {
            for (int r = 1; r <= rows; r++) { sum += weights[r - 1] * x[(r - 1) * cols + col]; }
        }
    }
    out[col] = sum;
}

void run_mixed(float* out, const float* x, const float* weights, int rows, int cols) {
    mixed<<<(cols + 63) / 64, 64>>>(out, x, weights, rows, cols);
}
// --- blended applies
__global__ void blended(float* out, const float* x, const float* weights, int rows, int cols) {
    const float* layer = x + (size_t)blockIdx.x * rows * cols;
    const float* mine = layer + threadIdx.x;
    if (threadIdx.x < cols) {
        float sum = 0.0f, all = 0.0f;
        #pragma unroll 2
        for (int r = 0; r < rows; r++) {
            sum += weights[r] * mine[r * cols];
            all += layer[r * cols + threadIdx.x];
        }
        out[blockIdx.x * cols + threadIdx.x] = sum / (1.0f + all * all);
    }
}

void run_blended(float* out, const float* x, const float* weights, int layers, int rows, int cols) {
    blended<<<layers, 128>>>(out, x, weights, rows, cols);
}
// --- blended becomes
__global__ void blended(float* out, const float* x, const float* weights, int rows, int cols) {
    const float* layer = x + (size_t)blockIdx.x * rows * cols;
    const float* mine_from = layer;
    const float* mine = layer + threadIdx.x;
    if (threadIdx.x < cols) {
        float sum = 0.0f, all = 0.0f;
        const int column = threadIdx.x;
        {
            const int lane = threadIdx.x % 32;
            bool wide = (column - lane) % 32 == 0 && cols % 32 == 0;
            for (int r = 0; r < 2; r++) {
                wide = wide && (reinterpret_cast<size_t>(&mine_from[r * cols]) | reinterpret_cast<size_t>(&layer[r * cols])) % 16 == 0;
            }
            if (wide) {
                // A lane takes 4 columns of every 4th row; shuffles hand each one the sum of its own.
                const int quad = (column - lane) / 4 + lane % 8;
                float all_parts[4] = {};
                float sum_parts[4] = {};
                #pragma unroll 4
                for (int r = lane / 8; r < rows; r += 4) {
                    alignas(16) float mine_from_quad[4];
                    *reinterpret_cast<float4*>(mine_from_quad) = reinterpret_cast<const float4*>(&mine_from[r * cols])[quad];
                    alignas(16) float layer_quad[4];
                    *reinterpret_cast<float4*>(layer_quad) = reinterpret_cast<const float4*>(&layer[r * cols])[quad];
                    #pragma unroll
                    for (int place = 0; place < 4; place++) {
                        sum_parts[place] += weights[r] * mine_from_quad[place];
                        all_parts[place] += layer_quad[place];
                    }
                }
                #pragma unroll
                for (int place = 0; place < 2; place++) {
                    const float away = lane & 16 ? all_parts[place] : all_parts[place + 2];
                    all_parts[place] = lane & 16 ? all_parts[place + 2] : all_parts[place];
                    all_parts[place] += __shfl_xor_sync(0xffffffff, away, 16);
                }
                #pragma unroll
                for (int place = 0; place < 2; place++) {
                    const float away = lane & 16 ? sum_parts[place] : sum_parts[place + 2];
                    sum_parts[place] = lane & 16 ? sum_parts[place + 2] : sum_parts[place];
                    sum_parts[place] += __shfl_xor_sync(0xffffffff, away, 16);
                }
                {
                    const float away = lane & 8 ? all_parts[0] : all_parts[1];
                    all_parts[0] = lane & 8 ? all_parts[1] : all_parts[0];
                    all_parts[0] += __shfl_xor_sync(0xffffffff, away, 8);
                }
                {
                    const float away = lane & 8 ? sum_parts[0] : sum_parts[1];
                    sum_parts[0] = lane & 8 ? sum_parts[1] : sum_parts[0];
                    sum_parts[0] += __shfl_xor_sync(0xffffffff, away, 8);
                }
                all += __shfl_sync(0xffffffff, all_parts[0], lane % 4 * 8 + lane / 4);
                sum += __shfl_sync(0xffffffff, sum_parts[0], lane % 4 * 8 + lane / 4);
            } else {
                for (int r = 0; r < rows; r++) {
                    sum += weights[r] * mine_from[r * cols + column];
                    all += layer[r * cols + column];
                }
            }
        }
        out[blockIdx.x * cols + threadIdx.x] = sum / (1.0f + all * all);
    }
}

void run_blended(float* out, const float* x, const float* weights, int layers, int rows, int cols) {
    blended<<<layers, 128>>>(out, x, weights, rows, cols);
}
// --- two_sums applies
__global__ void two_sums(float* __restrict__ out, const float* __restrict__ x, const float* __restrict__ y, int n, int dims) {
    __shared__ float w[256];
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float s = 0.f;
        for (int d = 0; d < dims; d++) s += x[i * dims + d];
        w[i] = s;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float s = w[n - 1 - i];
        for (int d = 0; d < dims; d++) s += y[i * dims + d] * x[d];
        out[i] = s;
    }
}
void run_two_sums(float* out, const float* x, const float* y, int n, int dims) { two_sums<<<1, 64>>>(out, x, y, n, dims); }
// --- two_sums becomes
__global__ void two_sums(float* __restrict__ out, const float* __restrict__ x, const float* __restrict__ y, int n, int dims) {
    __shared__ float w[256];
    const int lane = threadIdx.x % 32;
    for (int i = threadIdx.x; i - lane < n; i += blockDim.x) {
        // 8 lanes read each of their rows side by side; in the end each one has the sum of its own.
        float s_parts[8] = {};
        {
            const int first = i - lane % 8;
            bool wide = true;
            #pragma unroll
            for (int mate = 0; mate < 8; mate++) {
                const int i = first + mate < n ? first + mate : n - 1;
                wide = wide && reinterpret_cast<size_t>(&x[i * dims]) % 16 == 0;
            }
            const int groups = wide ? dims / 4 : 0;
            for (int quad = lane % 8; quad < groups; quad += 8) {
                #pragma unroll
                for (int mate = 0; mate < 8; mate++) {
                    const int i = first + mate < n ? first + mate : n - 1;
                    alignas(16) float x_quad[4];
                    *reinterpret_cast<float4*>(x_quad) = reinterpret_cast<const float4*>(&x[i * dims])[quad];
                    #pragma unroll
                    for (int place = 0; place < 4; place++) {
                        s_parts[mate] += x_quad[place];
                    }
                }
            }
            for (int d = 4 * groups + lane % 8; d < dims; d += 8) {
                #pragma unroll
                for (int mate = 0; mate < 8; mate++) {
                    const int i = first + mate < n ? first + mate : n - 1;
                    s_parts[mate] += x[i * dims + d];
                }
            }
            #pragma unroll
            for (int place = 0; place < 4; place++) {
                const float away = lane & 4 ? s_parts[place] : s_parts[place + 4];
                s_parts[place] = lane & 4 ? s_parts[place + 4] : s_parts[place];
                s_parts[place] += __shfl_xor_sync(0xffffffff, away, 4);
            }
            #pragma unroll
            for (int place = 0; place < 2; place++) {
                const float away = lane & 2 ? s_parts[place] : s_parts[place + 2];
                s_parts[place] = lane & 2 ? s_parts[place + 2] : s_parts[place];
                s_parts[place] += __shfl_xor_sync(0xffffffff, away, 2);
            }
            {
                const float away = lane & 1 ? s_parts[0] : s_parts[1];
                s_parts[0] = lane & 1 ? s_parts[1] : s_parts[0];
                s_parts[0] += __shfl_xor_sync(0xffffffff, away, 1);
            }
        }
        if (i < n) {
            float s = 0.f;
            s += s_parts[0];
            w[i] = s;
        }
    }
    __syncthreads();
    const int lane_ = threadIdx.x % 32;
    for (int i = threadIdx.x; i - lane_ < n; i += blockDim.x) {
        // 8 lanes read each of their rows side by side; in the end each one has the sum of its own.
        float s_parts_[8] = {};
        {
            const int first_ = i - lane_ % 8;
            bool wide_ = true;
            #pragma unroll
            for (int mate_ = 0; mate_ < 8; mate_++) {
                const int i = first_ + mate_ < n ? first_ + mate_ : n - 1;
                wide_ = wide_ && (reinterpret_cast<size_t>(&y[i * dims]) | reinterpret_cast<size_t>(x)) % 16 == 0;
            }
            const int groups_ = wide_ ? dims / 4 : 0;
            for (int quad_ = lane_ % 8; quad_ < groups_; quad_ += 8) {
                #pragma unroll
                for (int mate_ = 0; mate_ < 8; mate_++) {
                    const int i = first_ + mate_ < n ? first_ + mate_ : n - 1;
                    alignas(16) float y_quad[4];
                    *reinterpret_cast<float4*>(y_quad) = reinterpret_cast<const float4*>(&y[i * dims])[quad_];
                    alignas(16) float x_quad[4];
                    *reinterpret_cast<float4*>(x_quad) = reinterpret_cast<const float4*>(x)[quad_];
                    #pragma unroll
                    for (int place_ = 0; place_ < 4; place_++) {
                        s_parts_[mate_] += y_quad[place_] * x_quad[place_];
                    }
                }
            }
            for (int d = 4 * groups_ + lane_ % 8; d < dims; d += 8) {
                #pragma unroll
                for (int mate_ = 0; mate_ < 8; mate_++) {
                    const int i = first_ + mate_ < n ? first_ + mate_ : n - 1;
                    s_parts_[mate_] += y[i * dims + d] * x[d];
                }
            }
            #pragma unroll
            for (int place = 0; place < 4; place++) {
                const float away = lane_ & 4 ? s_parts_[place] : s_parts_[place + 4];
                s_parts_[place] = lane_ & 4 ? s_parts_[place + 4] : s_parts_[place];
                s_parts_[place] += __shfl_xor_sync(0xffffffff, away, 4);
            }
            #pragma unroll
            for (int place = 0; place < 2; place++) {
                const float away = lane_ & 2 ? s_parts_[place] : s_parts_[place + 2];
                s_parts_[place] = lane_ & 2 ? s_parts_[place + 2] : s_parts_[place];
                s_parts_[place] += __shfl_xor_sync(0xffffffff, away, 2);
            }
            {
                const float away = lane_ & 1 ? s_parts_[0] : s_parts_[1];
                s_parts_[0] = lane_ & 1 ? s_parts_[1] : s_parts_[0];
                s_parts_[0] += __shfl_xor_sync(0xffffffff, away, 1);
            }
        }
        if (i < n) {
            float s = w[n - 1 - i];
            s += s_parts_[0];
            out[i] = s;
        }
    }
}
void run_two_sums(float* out, const float* x, const float* y, int n, int dims) { two_sums<<<1, 64>>>(out, x, y, n, dims); }
// --- ragged refuses: may differ in length
__global__ void ragged(float* __restrict__ out, const float* __restrict__ x, const int* __restrict__ ends, int n, int most) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const int end = ends[i];
        float sum = 0.0f;
        for (int d = 0; d < end; d++) { sum += x[i * most + d]; }
        out[i] = sum;
    }
}
void run(float* out, const float* x, const int* ends, int n, int most) { ragged<<<1, 64>>>(out, x, ends, n, most); }
// --- scores refuses: may be what another lane writes
__global__ void scores(float* out, const float* x, int n, int dims) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float sum = 0.0f;
        for (int d = 0; d < dims; d++) { sum += x[i * dims + d]; }
        out[i] = sum;
    }
}
void run(float* out, const float* x, int n, int dims) { scores<<<1, 64>>>(out, x, n, dims); }
// --- scores refuses: `s` is carried from round to round
__global__ void scores(float* __restrict__ out, const float* __restrict__ x, int n, int dims) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float s = 0.0f;
        for (int d = 0; d < dims; d++) { s = 0.5f * s + x[i * dims + d]; }
        out[i] = s;
    }
}
void run(float* out, const float* x, int n, int dims) { scores<<<1, 64>>>(out, x, n, dims); }
// --- filtered refuses: lanes may go different ways at `keep[col] > 0`
__global__ void filtered(float* out, const float* x, const int* keep, int rows, int cols) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col < cols) {
        if (keep[col] > 0) {
            float sum = 0.0f;
            for (int r = 0; r < rows; r++) { sum += x[r * cols + col]; }
            out[col] = sum;
        }
    }
}
void run(float* out, const float* x, const int* keep, int rows, int cols) { filtered<<<8, 64>>>(out, x, keep, rows, cols); }
// --- gathered refuses: not known to lie at one distance
__global__ void gathered(float* out, const float* x, const int* which, int rows, int cols) {
    const int col = threadIdx.x;
    float sum = 0.0f;
    for (int r = 0; r < rows; r++) { sum += x[which[r] * cols + col]; }
    out[col] = sum;
}
void run(float* out, const float* x, const int* which, int rows, int cols) { gathered<<<1, 64>>>(out, x, which, rows, cols); }
// --- own_weights refuses: may differ from lane to lane
__global__ void own_weights(float* out, const float* x, int rows, int cols) {
    const int col = threadIdx.x;
    const float weight = 1.0f / (1 + col);
    float sum = 0.0f;
    for (int r = 0; r < rows; r++) { sum += weight * x[r * cols + col]; }
    out[col] = sum;
}
void run(float* out, const float* x, int rows, int cols) { own_weights<<<1, 64>>>(out, x, rows, cols); }
