// --- silu applies
#include <cuda_fp16.h>

__global__ void silu(const half* x, half* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = __half2float(x[i]);
        float s = 1.0f / (1.0f + expf(-v));
        y[i] = __float2half(v * s);
    }
}
// --- silu becomes
#include <cuda_fp16.h>

__global__ void silu(const half* x, half* y, int n) {
    int group = blockIdx.x * blockDim.x + threadIdx.x;
    if ((reinterpret_cast<size_t>(x) | reinterpret_cast<size_t>(y)) % 16 == 0 && group < n / 8) {
        alignas(16) half x_group[8];
        *reinterpret_cast<uint4*>(x_group) = reinterpret_cast<const uint4*>(x)[group];
        alignas(16) half y_group[8];
        #pragma unroll
        for (int lane = 0; lane < 8; lane++) {
            float v = __half2float(x_group[lane]);
            float s = 1.0f / (1.0f + expf(-v));
            y_group[lane] = __float2half(v * s);
        }
        reinterpret_cast<uint4*>(y)[group] = *reinterpret_cast<uint4*>(y_group);
    } else if (group <= n / 8) {
        for (int i = 8 * group; i < n && i - 8 * group < 8; i++) {
            float v = __half2float(x[i]);
            float s = 1.0f / (1.0f + expf(-v));
            y[i] = __float2half(v * s);
        }
    }
}
// --- bias_relu applies
__global__ void bias_relu(signed char* out, float* x, const float* bias, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y;
    if (row < rows && col < cols) {
        x[row * cols + col] += bias[col];
        if (x[row * cols + col] > 0.0f) {
            out[row * cols + col] = 1;
        } else {
            out[row * cols + col] = 0;
            x[row * cols + col] = 0.0f;
        }
    }
}

void launch(signed char* out, float* x, const float* bias, int rows, int cols) {
    dim3 grid((cols + 127) / 128, rows);
    bias_relu<<<grid, 128>>>(out, x, bias, rows, cols);
}
// --- bias_relu becomes
__global__ void bias_relu(signed char* out, float* x, const float* bias, int rows, int cols) {
    int quad = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y;
    if (row < rows && (reinterpret_cast<size_t>(&x[row * cols]) | reinterpret_cast<size_t>(bias)) % 16 == 0 && reinterpret_cast<size_t>(&out[row * cols]) % 4 == 0 && quad < cols / 4) {
        alignas(16) float x_quad[4];
        *reinterpret_cast<float4*>(x_quad) = reinterpret_cast<const float4*>(&x[row * cols])[quad];
        alignas(16) float bias_quad[4];
        *reinterpret_cast<float4*>(bias_quad) = reinterpret_cast<const float4*>(bias)[quad];
        alignas(16) signed char out_quad[4];
        #pragma unroll
        for (int lane = 0; lane < 4; lane++) {
            x_quad[lane] += bias_quad[lane];
            if (x_quad[lane] > 0.0f) {
                out_quad[lane] = 1;
            } else {
                out_quad[lane] = 0;
                x_quad[lane] = 0.0f;
            }
        }
        reinterpret_cast<float4*>(&x[row * cols])[quad] = *reinterpret_cast<float4*>(x_quad);
        reinterpret_cast<unsigned int*>(&out[row * cols])[quad] = *reinterpret_cast<unsigned int*>(out_quad);
    } else if (row < rows && quad <= cols / 4) {
        for (int col = 4 * quad; col < cols && col - 4 * quad < 4; col++) {
            x[row * cols + col] += bias[col];
            if (x[row * cols + col] > 0.0f) {
                out[row * cols + col] = 1;
            } else {
                out[row * cols + col] = 0;
                x[row * cols + col] = 0.0f;
            }
        }
    }
}

void launch(signed char* out, float* x, const float* bias, int rows, int cols) {
    dim3 grid((((cols + 127) / 128) + 3) / 4, rows);
    bias_relu<<<grid, 128>>>(out, x, bias, rows, cols);
}
// --- scale applies
__global__ void scale(float* out, const float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = a * x[i];
    }
}

void launch_scale(float* out, const float* x, float a, int n) {
    const int grid_size = (n + 255) / 256;
    scale<<<grid_size, 256>>>(out, x, a, n);
}
// --- scale becomes
__global__ void scale(float* out, const float* x, float a, int n) {
    int quad = blockIdx.x * blockDim.x + threadIdx.x;
    if ((reinterpret_cast<size_t>(out) | reinterpret_cast<size_t>(x)) % 16 == 0 && quad < n / 4) {
        alignas(16) float out_quad[4];
        alignas(16) float x_quad[4];
        *reinterpret_cast<float4*>(x_quad) = reinterpret_cast<const float4*>(x)[quad];
        #pragma unroll
        for (int lane = 0; lane < 4; lane++) {
            out_quad[lane] = a * x_quad[lane];
        }
        reinterpret_cast<float4*>(out)[quad] = *reinterpret_cast<float4*>(out_quad);
    } else if (quad <= n / 4) {
        for (int i = 4 * quad; i < n && i - 4 * quad < 4; i++) {
            out[i] = a * x[i];
        }
    }
}

void launch_scale(float* out, const float* x, float a, int n) {
    const int grid_size = (n + 255) / 256;
    scale<<<(grid_size + 3) / 4, 256>>>(out, x, a, n);
}
// --- gelu applies
__global__ void gelu(float* out, const float* inp, const float* bias, int n, int c)
{
	const int idx = threadIdx.x + blockDim.x * blockIdx.x;
	if (idx >= n) return;
	// tanh form
	float v = inp[idx] + bias[idx % c];
	float cube = 0.044715f * v * v * v;
	out[idx] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + cube)));
}
// --- gelu becomes
__global__ void gelu(float* out, const float* inp, const float* bias, int n, int c)
{
	const int quad = threadIdx.x + blockDim.x * blockIdx.x;
	if (c % 4 == 0 && (reinterpret_cast<size_t>(inp) | reinterpret_cast<size_t>(bias) | reinterpret_cast<size_t>(out)) % 16 == 0 && quad < n / 4) {
		const int idx = 4 * quad;
		alignas(16) float inp_quad[4];
		*reinterpret_cast<float4*>(inp_quad) = *reinterpret_cast<const float4*>(&inp[idx]);
		alignas(16) float bias_quad[4];
		*reinterpret_cast<float4*>(bias_quad) = *reinterpret_cast<const float4*>(&bias[idx % c]);
		alignas(16) float out_quad[4];
		#pragma unroll
		for (int lane = 0; lane < 4; lane++) {
			float v = inp_quad[lane] + bias_quad[lane];
			float cube = 0.044715f * v * v * v;
			out_quad[lane] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + cube)));
		}
		*reinterpret_cast<float4*>(&out[idx]) = *reinterpret_cast<float4*>(out_quad);
	} else if (quad <= n / 4) {
		for (int idx = 4 * quad; idx < n && idx - 4 * quad < 4; idx++) {
			float v = inp[idx] + bias[idx % c];
			float cube = 0.044715f * v * v * v;
			out[idx] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + cube)));
		}
	}
}
// --- rotate_halves applies
__global__ void rotate_halves(float* x, const float* angles, int rows, int heads, int half) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int total = rows * heads * half;
    if (i < total) {
        int k = i % half;
        int head = (i / half) % heads, row = i / (half * heads);
        float* p = x + (row * heads + head) * 2 * half;
        float a = p[k], b = p[k + half], angle = angles[row * half + k];
        p[k] = a * cosf(angle) - b * sinf(angle);
        p[k + half] = b * cosf(angle) + a * sinf(angle);
    }
}
void run_rotate_halves(float* x, const float* angles, int rows, int heads, int half) {
    rotate_halves<<<(rows * heads * half + 255) / 256, 256>>>(x, angles, rows, heads, half);
}
// --- rotate_halves becomes
__global__ void rotate_halves(float* x, const float* angles, int rows, int heads, int half) {
    int quad = blockIdx.x * blockDim.x + threadIdx.x;
    int total = rows * heads * half;
    if (half % 4 == 0 && (reinterpret_cast<size_t>(x) | reinterpret_cast<size_t>(angles)) % 16 == 0 && quad < total / 4) {
        const int i = 4 * quad;
        int k = i % half;
        int head = (i / half) % heads, row = i / (half * heads);
        float* p = x + (row * heads + head) * 2 * half;
        alignas(16) float x_quad[4];
        *reinterpret_cast<float4*>(x_quad) = *reinterpret_cast<const float4*>(&p[k]);
        alignas(16) float x_quad_[4];
        *reinterpret_cast<float4*>(x_quad_) = *reinterpret_cast<const float4*>(&p[k + half]);
        alignas(16) float angles_quad[4];
        *reinterpret_cast<float4*>(angles_quad) = *reinterpret_cast<const float4*>(&angles[row * half + k]);
        #pragma unroll
        for (int lane = 0; lane < 4; lane++) {
            float a = x_quad[lane], b = x_quad_[lane], angle = angles_quad[lane];
            x_quad[lane] = a * cosf(angle) - b * sinf(angle);
            x_quad_[lane] = b * cosf(angle) + a * sinf(angle);
        }
        *reinterpret_cast<float4*>(&p[k]) = *reinterpret_cast<float4*>(x_quad);
        *reinterpret_cast<float4*>(&p[k + half]) = *reinterpret_cast<float4*>(x_quad_);
    } else if (quad <= total / 4) {
        for (int i = 4 * quad; i < total && i - 4 * quad < 4; i++) {
            int k = i % half;
            int head = (i / half) % heads, row = i / (half * heads);
            float* p = x + (row * heads + head) * 2 * half;
            float a = p[k], b = p[k + half], angle = angles[row * half + k];
            p[k] = a * cosf(angle) - b * sinf(angle);
            p[k + half] = b * cosf(angle) + a * sinf(angle);
        }
    }
}
void run_rotate_halves(float* x, const float* angles, int rows, int heads, int half) {
    rotate_halves<<<(((rows * heads * half + 255) / 256) + 3) / 4, 256>>>(x, angles, rows, heads, half);
}
// --- multiply_complex applies
#include <cuda_fp16.h>
__global__ void multiply_complex(__half* c, const __half* a, const float* b, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float ar = __half2float(a[2 * i]), ai = __half2float(*(a + 2 * i + 1));
    float br = b[2 * i], bi = b[2 * i + 1];
    c[2 * i + 1] = __float2half(ar * bi + ai * br);
    c[2 * i] = __float2half(ar * br - ai * bi);
}
void run_multiply_complex(__half* c, const __half* a, const float* b, int n) {
    multiply_complex<<<(n + 255) / 256, 256>>>(c, a, b, n);
}
// --- multiply_complex becomes
#include <cuda_fp16.h>
__global__ void multiply_complex(__half* c, const __half* a, const float* b, int n) {
    const int quad = blockIdx.x * blockDim.x + threadIdx.x;
    if ((reinterpret_cast<size_t>(a) | reinterpret_cast<size_t>(c)) % 8 == 0 && reinterpret_cast<size_t>(b) % 16 == 0 && quad < n / 4) {
        const int i = 4 * quad;
        alignas(16) __half a_quad[8];
        *reinterpret_cast<uint2*>(a_quad) = *reinterpret_cast<const uint2*>(&a[2 * i]);
        reinterpret_cast<uint2*>(a_quad)[1] = reinterpret_cast<const uint2*>(&a[2 * i])[1];
        alignas(16) float b_quad[8];
        *reinterpret_cast<float4*>(b_quad) = *reinterpret_cast<const float4*>(&b[2 * i]);
        reinterpret_cast<float4*>(b_quad)[1] = reinterpret_cast<const float4*>(&b[2 * i])[1];
        alignas(16) __half c_quad[8];
        #pragma unroll
        for (int lane = 0; lane < 4; lane++) {
            float ar = __half2float(a_quad[2 * lane]), ai = __half2float(a_quad[2 * lane + 1]);
            float br = b_quad[2 * lane], bi = b_quad[2 * lane + 1];
            c_quad[2 * lane + 1] = __float2half(ar * bi + ai * br);
            c_quad[2 * lane] = __float2half(ar * br - ai * bi);
        }
        *reinterpret_cast<uint2*>(&c[2 * i]) = *reinterpret_cast<uint2*>(c_quad);
        reinterpret_cast<uint2*>(&c[2 * i])[1] = reinterpret_cast<uint2*>(c_quad)[1];
    } else if (quad <= n / 4) {
        for (int i = 4 * quad; i < n && i - 4 * quad < 4; i++) {
            float ar = __half2float(a[2 * i]), ai = __half2float(*(a + 2 * i + 1));
            float br = b[2 * i], bi = b[2 * i + 1];
            c[2 * i + 1] = __float2half(ar * bi + ai * br);
            c[2 * i] = __float2half(ar * br - ai * bi);
        }
    }
}
void run_multiply_complex(__half* c, const __half* a, const float* b, int n) {
    multiply_complex<<<(((n + 255) / 256) + 3) / 4, 256>>>(c, a, b, n);
}
// --- take_rows applies
#include <cuda_fp16.h>
__global__ void take_rows(__half* out, const long long* group, const __half* table, const float* scale, int rows, int width) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (long long)rows * width) {
        long long row = i / width;
        out[i] = __float2half(__half2float(table[group[row] * width + i % width]) * scale[row]);
    }
}
void run_take_rows(__half* out, const long long* group, const __half* table, const float* scale, int rows, int width) {
    take_rows<<<(rows * width + 127) / 128, 128>>>(out, group, table, scale, rows, width);
}
// --- take_rows becomes
#include <cuda_fp16.h>
__global__ void take_rows(__half* out, const long long* group, const __half* table, const float* scale, int rows, int width) {
    long long group_ = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (width % 8 == 0 && (reinterpret_cast<size_t>(table) | reinterpret_cast<size_t>(out)) % 16 == 0 && group_ < ((long long)rows * width) / 8) {
        const long long i = 8 * group_;
        long long row = i / width;
        alignas(16) __half table_group[8];
        *reinterpret_cast<uint4*>(table_group) = *reinterpret_cast<const uint4*>(&table[group[row] * width + i % width]);
        const float scale_value = scale[row];
        alignas(16) __half out_group[8];
        #pragma unroll
        for (int lane = 0; lane < 8; lane++) {
            out_group[lane] = __float2half(__half2float(table_group[lane]) * scale_value);
        }
        *reinterpret_cast<uint4*>(&out[i]) = *reinterpret_cast<uint4*>(out_group);
    } else if (group_ <= ((long long)rows * width) / 8) {
        for (long long i = 8 * group_; i < (long long)rows * width && i - 8 * group_ < 8; i++) {
            long long row = i / width;
            out[i] = __float2half(__half2float(table[group[row] * width + i % width]) * scale[row]);
        }
    }
}
void run_take_rows(__half* out, const long long* group, const __half* table, const float* scale, int rows, int width) {
    take_rows<<<(((rows * width + 127) / 128) + 7) / 8, 128>>>(out, group, table, scale, rows, width);
}
// --- join_halves applies
__global__ void join_halves(float* out, const float* re, const float* im, int n, int half) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int row = i / half, k = i % half;
        out[row * 2 * half + k] = re[row * half + k];
        out[row * 2 * half + half + k] = 2.0f * im[k];
    }
}
void run_join_halves(float* out, const float* re, const float* im, int n, int half) {
    join_halves<<<64, 256>>>(out, re, im, n, half);
}
// --- join_halves becomes
__global__ void join_halves(float* out, const float* re, const float* im, int n, int half) {
    // Whole groups of four that wide accesses may take; the loop after them does what is left.
    int quads = half % 4 == 0 && (reinterpret_cast<size_t>(re) | reinterpret_cast<size_t>(out) | reinterpret_cast<size_t>(im)) % 16 == 0 ? n / 4 : 0;
    for (int quad = blockIdx.x * blockDim.x + threadIdx.x; quad < quads; quad += gridDim.x * blockDim.x) {
        const int i = 4 * quad;
        int row = i / half, k = i % half;
        alignas(16) float re_quad[4];
        *reinterpret_cast<float4*>(re_quad) = *reinterpret_cast<const float4*>(&re[row * half + k]);
        alignas(16) float out_quad[4];
        alignas(16) float im_quad[4];
        *reinterpret_cast<float4*>(im_quad) = *reinterpret_cast<const float4*>(&im[k]);
        alignas(16) float out_quad_[4];
        #pragma unroll
        for (int lane = 0; lane < 4; lane++) {
            out_quad[lane] = re_quad[lane];
            out_quad_[lane] = 2.0f * im_quad[lane];
        }
        *reinterpret_cast<float4*>(&out[row * 2 * half + k]) = *reinterpret_cast<float4*>(out_quad);
        *reinterpret_cast<float4*>(&out[row * 2 * half + half + k]) = *reinterpret_cast<float4*>(out_quad_);
    }
    for (int i = 4 * quads + blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int row = i / half, k = i % half;
        out[row * 2 * half + k] = re[row * half + k];
        out[row * 2 * half + half + k] = 2.0f * im[k];
    }
}
void run_join_halves(float* out, const float* re, const float* im, int n, int half) {
    join_halves<<<64, 256>>>(out, re, im, n, half);
}
// --- pool_windows applies
__global__ void pool_windows(float* out, const float* x, int n, int window) {
    int o = blockIdx.x * blockDim.x + threadIdx.x;
    if (o < n) {
        float best = x[o * window];
        for (int j = 0; j < window; j++) {
            best = fmaxf(best, x[o * window + j]);
        }
        out[o] = best;
    }
}
void run_pool_windows(float* out, const float* x, int n, int window) {
    pool_windows<<<(n + 127) / 128, 128>>>(out, x, n, window);
}
// --- pool_windows becomes
__global__ void pool_windows(float* out, const float* x, int n, int window) {
    int o = blockIdx.x * blockDim.x + threadIdx.x;
    if (o < n) {
        float best = x[o * window];
        // Whole groups of four that wide accesses may take; the loop after them does what is left.
        int quads = reinterpret_cast<size_t>(&x[o * window]) % 16 == 0 ? window / 4 : 0;
        for (int quad = 0; quad < quads; quad++) {
            alignas(16) float x_quad[4];
            *reinterpret_cast<float4*>(x_quad) = reinterpret_cast<const float4*>(&x[o * window])[quad];
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                best = fmaxf(best, x_quad[lane]);
            }
        }
        for (int j = 4 * quads; j < window; j++) {
            best = fmaxf(best, x[o * window + j]);
        }
        out[o] = best;
    }
}
void run_pool_windows(float* out, const float* x, int n, int window) {
    pool_windows<<<(n + 127) / 128, 128>>>(out, x, n, window);
}
// --- key_scores applies
using real = __half;

__global__ void key_scores(float* out, const real* query, const real* keys, int count) {
    __shared__ float q[64];
    const real* row = keys + (size_t)blockIdx.x * count * 64;
    q[threadIdx.x] = __half2float(query[blockIdx.x * 64 + threadIdx.x]);
    __syncthreads();
    for (int k = threadIdx.x; k < count; k += 64) {
        float dot = 0.0f;
        for (int d = 0; d < 64; d++) {
            dot += q[d] * __half2float(row[(size_t)k * 64 + d]);
        }
        out[blockIdx.x * count + k] = dot;
    }
}

void run_key_scores(float* out, const real* query, const real* keys, int heads, int count) {
    key_scores<<<heads, 64>>>(out, query, keys, count);
}
// --- key_scores becomes
using real = __half;

__global__ void key_scores(float* out, const real* query, const real* keys, int count) {
    __shared__ float q[64];
    const real* row = keys + (size_t)blockIdx.x * count * 64;
    q[threadIdx.x] = __half2float(query[blockIdx.x * 64 + threadIdx.x]);
    __syncthreads();
    for (int k = threadIdx.x; k < count; k += 64) {
        float dot = 0.0f;
        // Whole groups of eight that wide accesses may take; the loop after them does what is left.
        int groups = reinterpret_cast<size_t>(&row[(size_t)k * 64]) % 16 == 0 ? 64 / 8 : 0;
        for (int group = 0; group < groups; group++) {
            alignas(16) real row_group[8];
            *reinterpret_cast<uint4*>(row_group) = reinterpret_cast<const uint4*>(&row[(size_t)k * 64])[group];
            #pragma unroll
            for (int lane = 0; lane < 8; lane++) {
                int d = 8 * group + lane;
                dot += q[d] * __half2float(row_group[lane]);
            }
        }
        for (int d = 8 * groups; d < 64; d++) {
            dot += q[d] * __half2float(row[(size_t)k * 64 + d]);
        }
        out[blockIdx.x * count + k] = dot;
    }
}

void run_key_scores(float* out, const real* query, const real* keys, int heads, int count) {
    key_scores<<<heads, 64>>>(out, query, keys, count);
}
// --- row_sum applies
__global__ void row_sum(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    int lane_id = threadIdx.x % 32;
    float sum = 0.0f;
    for (int i = lane_id; i < C; i += 32) {
        sum += row[i];
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    if (lane_id == 0) {
        out[blockIdx.x] = sum;
    }
}
// --- row_sum becomes
__global__ void row_sum(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    int lane_id = threadIdx.x % 32;
    float sum = 0.0f;
    // Whole groups of four that wide accesses may take; the loop after them does what is left.
    int quads = reinterpret_cast<size_t>(row) % 16 == 0 ? C / 4 : 0;
    for (int quad = lane_id; quad < quads; quad += 32) {
        alignas(16) float row_quad[4];
        *reinterpret_cast<float4*>(row_quad) = reinterpret_cast<const float4*>(row)[quad];
        #pragma unroll
        for (int lane = 0; lane < 4; lane++) {
            sum += row_quad[lane];
        }
    }
    for (int i = 4 * quads + lane_id; i < C; i += 32) {
        sum += row[i];
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    if (lane_id == 0) {
        out[blockIdx.x] = sum;
    }
}
// --- normalise applies
__global__ void normalise(float* out, const float* x, const float* weight, const float* scale, int C) {
  int row = blockIdx.x;
  for (int i = threadIdx.x; i < C; i += blockDim.x)
    out[row * C + i] = x[row * C + i] * scale[row] * weight[i];
}
// --- normalise becomes
__global__ void normalise(float* out, const float* x, const float* weight, const float* scale, int C) {
  int row = blockIdx.x;
  // Whole groups of four that wide accesses may take; the loop after them does what is left.
  int quads = (reinterpret_cast<size_t>(&out[row * C]) | reinterpret_cast<size_t>(&x[row * C]) | reinterpret_cast<size_t>(weight)) % 16 == 0 ? C / 4 : 0;
  for (int quad = threadIdx.x; quad < quads; quad += blockDim.x) {
    alignas(16) float out_quad[4];
    alignas(16) float x_quad[4];
    *reinterpret_cast<float4*>(x_quad) = reinterpret_cast<const float4*>(&x[row * C])[quad];
    alignas(16) float weight_quad[4];
    *reinterpret_cast<float4*>(weight_quad) = reinterpret_cast<const float4*>(weight)[quad];
    #pragma unroll
    for (int lane = 0; lane < 4; lane++) {
      out_quad[lane] = x_quad[lane] * scale[row] * weight_quad[lane];
    }
    reinterpret_cast<float4*>(&out[row * C])[quad] = *reinterpret_cast<float4*>(out_quad);
  }
  for (int i = 4 * quads + threadIdx.x; i < C; i += blockDim.x)
    out[row * C + i] = x[row * C + i] * scale[row] * weight[i];
}
// --- centre applies
__global__ void centre(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < C; i += 32) {
        sum += row[i];
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }
    for (int i = threadIdx.x; i < C; i += 32) {
        out[blockIdx.x * C + i] = row[i] - sum / C;
    }
}

void launch_centre(float* out, const float* x, int N, int C) {
    centre<<<N, 32>>>(out, x, C);
}
// --- centre becomes
__global__ void centre(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    float sum = 0.0f;
    // Whole groups of four that wide accesses may take; the loop after them does what is left.
    int quads = reinterpret_cast<size_t>(row) % 16 == 0 ? C / 4 : 0;
    for (int quad = threadIdx.x; quad < quads; quad += 32) {
        alignas(16) float row_quad[4];
        *reinterpret_cast<float4*>(row_quad) = reinterpret_cast<const float4*>(row)[quad];
        #pragma unroll
        for (int lane = 0; lane < 4; lane++) {
            sum += row_quad[lane];
        }
    }
    for (int i = 4 * quads + threadIdx.x; i < C; i += 32) {
        sum += row[i];
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }
    // Whole groups of four that wide accesses may take; the loop after them does what is left.
    int quads2 = (reinterpret_cast<size_t>(&out[blockIdx.x * C]) | reinterpret_cast<size_t>(row)) % 16 == 0 ? C / 4 : 0;
    for (int quad = threadIdx.x; quad < quads2; quad += 32) {
        alignas(16) float out_quad[4];
        alignas(16) float row_quad[4];
        *reinterpret_cast<float4*>(row_quad) = reinterpret_cast<const float4*>(row)[quad];
        #pragma unroll
        for (int lane = 0; lane < 4; lane++) {
            out_quad[lane] = row_quad[lane] - sum / C;
        }
        reinterpret_cast<float4*>(&out[blockIdx.x * C])[quad] = *reinterpret_cast<float4*>(out_quad);
    }
    for (int i = 4 * quads2 + threadIdx.x; i < C; i += 32) {
        out[blockIdx.x * C + i] = row[i] - sum / C;
    }
}

void launch_centre(float* out, const float* x, int N, int C) {
    centre<<<N, 32>>>(out, x, C);
}
// --- gates applies
__global__ void gates(const float* x, float* y, int64_t n, bool on) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (!(on && n > i)) {
        return;
    }
    y[i] = 1.0f / (1.0f + expf(-x[i]));
}
void run(const float* x, float* y, int64_t n, bool on) { gates<<<(n + 127) / 128, 128>>>(x, y, n, on); }
// --- gates becomes
__global__ void gates(const float* x, float* y, int64_t n, bool on) {
    const int64_t quad = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (on && (reinterpret_cast<size_t>(y) | reinterpret_cast<size_t>(x)) % 16 == 0 && quad < n / 4) {
        alignas(16) float y_quad[4];
        alignas(16) float x_quad[4];
        *reinterpret_cast<float4*>(x_quad) = reinterpret_cast<const float4*>(x)[quad];
        #pragma unroll
        for (int lane = 0; lane < 4; lane++) {
            y_quad[lane] = 1.0f / (1.0f + expf(-x_quad[lane]));
        }
        reinterpret_cast<float4*>(y)[quad] = *reinterpret_cast<float4*>(y_quad);
    } else if (on && quad <= n / 4) {
        for (int64_t i = 4 * quad; i < n && i - 4 * quad < 4; i++) {
            y[i] = 1.0f / (1.0f + expf(-x[i]));
        }
    }
}
void run(const float* x, float* y, int64_t n, bool on) { gates<<<(((n + 127) / 128) + 3) / 4, 128>>>(x, y, n, on); }
// --- rotate_in_block applies
#include <cuda_fp16.h>
__global__ void rotate_in_block(__half* q, const float* cosines, const float* sines, int heads, int dim) {
    int token = blockIdx.x;
    int half_dim = dim / 2;
    for (int i = threadIdx.x; i < heads * half_dim; i += blockDim.x) {
        int h = i / half_dim;
        int d = i % half_dim;
        __half* v = q + ((long)token * heads + h) * dim;
        float a = __half2float(v[d]), b = __half2float(v[d + half_dim]);
        float c = cosines[token * half_dim + d], s = sines[token * half_dim + d];
        v[d] = __float2half(a * c - b * s);
        v[d + half_dim] = __float2half(b * c + a * s);
    }
}

void run_rotate_in_block(__half* q, const float* cosines, const float* sines, int tokens, int heads, int dim) {
    rotate_in_block<<<tokens, 128>>>(q, cosines, sines, heads, dim);
}
// --- rotate_in_block becomes
#include <cuda_fp16.h>
__global__ void rotate_in_block(__half* q, const float* cosines, const float* sines, int heads, int dim) {
    int token = blockIdx.x;
    int half_dim = dim / 2;
    // Whole groups of four that wide accesses may take; the loop after them does what is left.
    int quads = (dim / 2) % 4 == 0 && dim % 4 == 0 && reinterpret_cast<size_t>(q) % 8 == 0 && (reinterpret_cast<size_t>(cosines) | reinterpret_cast<size_t>(sines)) % 16 == 0 ? (heads * half_dim) / 4 : 0;
    for (int quad = threadIdx.x; quad < quads; quad += blockDim.x) {
        const int i = 4 * quad;
        int h = i / half_dim;
        int d = i % half_dim;
        __half* v = q + ((long)token * heads + h) * dim;
        alignas(16) __half q_quad[4];
        *reinterpret_cast<uint2*>(q_quad) = *reinterpret_cast<const uint2*>(&v[d]);
        alignas(16) __half q_quad_[4];
        *reinterpret_cast<uint2*>(q_quad_) = *reinterpret_cast<const uint2*>(&v[d + half_dim]);
        alignas(16) float cosines_quad[4];
        *reinterpret_cast<float4*>(cosines_quad) = *reinterpret_cast<const float4*>(&cosines[token * half_dim + d]);
        alignas(16) float sines_quad[4];
        *reinterpret_cast<float4*>(sines_quad) = *reinterpret_cast<const float4*>(&sines[token * half_dim + d]);
        #pragma unroll
        for (int lane = 0; lane < 4; lane++) {
            float a = __half2float(q_quad[lane]), b = __half2float(q_quad_[lane]);
            float c = cosines_quad[lane], s = sines_quad[lane];
            q_quad[lane] = __float2half(a * c - b * s);
            q_quad_[lane] = __float2half(b * c + a * s);
        }
        *reinterpret_cast<uint2*>(&v[d]) = *reinterpret_cast<uint2*>(q_quad);
        *reinterpret_cast<uint2*>(&v[d + half_dim]) = *reinterpret_cast<uint2*>(q_quad_);
    }
    for (int i = 4 * quads + threadIdx.x; i < heads * half_dim; i += blockDim.x) {
        int h = i / half_dim;
        int d = i % half_dim;
        __half* v = q + ((long)token * heads + h) * dim;
        float a = __half2float(v[d]), b = __half2float(v[d + half_dim]);
        float c = cosines[token * half_dim + d], s = sines[token * half_dim + d];
        v[d] = __float2half(a * c - b * s);
        v[d + half_dim] = __float2half(b * c + a * s);
    }
}

void run_rotate_in_block(__half* q, const float* cosines, const float* sines, int tokens, int heads, int dim) {
    rotate_in_block<<<tokens, 128>>>(q, cosines, sines, heads, dim);
}
// --- scale_channels applies
// A block for each image; the plane of an element tells its channel.
__global__ void scale_channels(float* y, const float* x, const float* scale, int channels, int pixels) {
    const float* image = x + blockIdx.x * channels * pixels;
    for (int i = threadIdx.x; i < channels * pixels; i += blockDim.x) {
        float* plane = y + (blockIdx.x * channels + i / pixels) * pixels;
        plane[i % pixels] = image[i] * scale[i / pixels];
    }
}

void run_scale_channels(float* y, const float* x, const float* scale, int images, int channels, int pixels) {
    scale_channels<<<images, 128>>>(y, x, scale, channels, pixels);
}
// --- scale_channels becomes
// A block for each image; the plane of an element tells its channel.
__global__ void scale_channels(float* y, const float* x, const float* scale, int channels, int pixels) {
    const float* image = x + blockIdx.x * channels * pixels;
    // Whole groups of four that wide accesses may take; the loop after them does what is left.
    int quads = reinterpret_cast<size_t>(image) % 16 == 0 ? (channels * pixels) / 4 : 0;
    for (int quad = threadIdx.x; quad < quads; quad += blockDim.x) {
        alignas(16) float image_quad[4];
        *reinterpret_cast<float4*>(image_quad) = reinterpret_cast<const float4*>(image)[quad];
        #pragma unroll
        for (int lane = 0; lane < 4; lane++) {
            int i = 4 * quad + lane;
            float* plane = y + (blockIdx.x * channels + i / pixels) * pixels;
            plane[i % pixels] = image_quad[lane] * scale[i / pixels];
        }
    }
    for (int i = 4 * quads + threadIdx.x; i < channels * pixels; i += blockDim.x) {
        float* plane = y + (blockIdx.x * channels + i / pixels) * pixels;
        plane[i % pixels] = image[i] * scale[i / pixels];
    }
}

void run_scale_channels(float* y, const float* x, const float* scale, int images, int channels, int pixels) {
    scale_channels<<<images, 128>>>(y, x, scale, channels, pixels);
}
// --- by_block refuses: uses `blockIdx.x` beside `i`
__global__ void by_block(float* out, const float* x, int n, int half) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float* row = out + (i / half) * half;
        row[i % half] = 2.0f * x[i + blockIdx.x];
    }
}
void run(float* out, const float* x, int n, int half) { by_block<<<64, 256>>>(out, x, n, half); }
// --- by_block refuses: uses `tid` beside `i`
__global__ void by_block(float* out, const float* x, int n, int half) {
    const int tid = threadIdx.x;
    for (int i = tid; i < n; i += blockDim.x) { out[blockIdx.x * n + i] = x[blockIdx.x * n + i] + tid; }
}
void run(float* out, const float* x, int n, int half) { by_block<<<64, 256>>>(out, x, n, half); }
// --- weights_gradient refuses: of neighbours meet in one sector
__global__ void weights_gradient(float* dw, const float* dy, const float* x, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        atomicAdd(&dw[i], dy[blockIdx.x * n + i] * x[blockIdx.x * n + i]);
    }
}
void run(float* dw, const float* dy, const float* x, int rows, int n) { weights_gradient<<<rows, 256>>>(dw, dy, x, n); }
// --- weights_gradient refuses: of neighbours meet in one sector
__global__ void weights_gradient(float* dw, const float* dy, int n, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { atomicAdd(dw + i, dy[i]); }
}
void run(float* dw, const float* dy, int n, int cols) { weights_gradient<<<(n + 255) / 256, 256>>>(dw, dy, n, cols); }
// --- scale refuses: may differ from element to element
__global__ void scale(float* out, const float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0) {
        out[i] = a * x[i];
    }
}

void launch_scale(float* out, const float* x, float a, int n) {
    const int grid_size = (n + 255) / 256;
    scale<<<grid_size, 256>>>(out, x, a, n);
}
// --- scale refuses: no elements of a plain type
__global__ void scale(float2* out, const float2* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = a * x[i];
    }
}

void launch_scale(float2* out, const float2* x, float a, int n) {
    const int grid_size = (n + 255) / 256;
    scale<<<grid_size, 256>>>(out, x, a, n);
}
// --- scale refuses: only under a condition
__global__ void scale(float* out, const float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (a > 0) out[i] = x[i];
    }
}

void launch_scale(float* out, const float* x, float a, int n) {
    const int grid_size = (n + 255) / 256;
    scale<<<grid_size, 256>>>(out, x, a, n);
}
// --- scale refuses: ends early
__global__ void scale(float* out, const float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = a * x[i]; if (a < 0) return;
    }
}

void launch_scale(float* out, const float* x, float a, int n) {
    const int grid_size = (n + 255) / 256;
    scale<<<grid_size, 256>>>(out, x, a, n);
}
// --- row_sum refuses: each element is taken once
__global__ void row_sum(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    int lane_id = threadIdx.x % 32;
    float sum = 0.0f;
    for (int i = 2 * lane_id; i < C; i += 32) {
        sum += row[i];
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    if (lane_id == 0) {
        out[blockIdx.x] = sum;
    }
}
// --- row_sum refuses: not a sum or a choice
__global__ void row_sum(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    int lane_id = threadIdx.x % 32;
    float sum = 0.0f;
    for (int i = lane_id; i < C; i += 32) {
        sum = row[i];
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    if (lane_id == 0) {
        out[blockIdx.x] = sum;
    }
}
// --- row_sum refuses: not a sum or a choice
__global__ void row_sum(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    int lane_id = threadIdx.x % 32;
    float sum = 0.0f;
    for (int i = lane_id; i < C; i += 32) {
        sum = joined(sum, row[i]);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    if (lane_id == 0) {
        out[blockIdx.x] = sum;
    }
}
// --- row_sum refuses: not a sum or a choice
__global__ void row_sum(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    int lane_id = threadIdx.x % 32;
    float sum = 0.0f;
    for (int i = lane_id; i < C; i += 32) {
        sum = 0.5f * sum + row[i];
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    if (lane_id == 0) {
        out[blockIdx.x] = sum;
    }
}
// --- row_sum refuses: no elements of a plain type
__global__ void row_sum(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    int lane_id = threadIdx.x % 32;
    float sum = 0.0f;
    for (int i = lane_id; i < C; i += 32) {
        const float* own = row + 1;
        sum += own[i];
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    if (lane_id == 0) {
        out[blockIdx.x] = sum;
    }
}
// --- softmax refuses: without a barrier between
__global__ void softmax(float* out, const float* inp, int C) {
  const float* x = inp + blockIdx.x * C;
  for (int i = threadIdx.x; i < C; i += blockDim.x) {
    if (x[i] > 0.0f) {
      out[blockIdx.x * C + i] = expf(x[i]);
    }
  }
  x = out + blockIdx.x * C;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < C; i += blockDim.x) {
    sum += x[i];
  }
  atomicAdd(&out[gridDim.x * C], sum);
}
// --- normalise refuses: touched elsewhere in the kernel
__global__ void normalise(float* out, const float* x, const float* weight, const float* scale, int C) {
  int row = blockIdx.x;
  for (int i = threadIdx.x; i < C; i += blockDim.x)
    out[row * C + i] = x[row * C + i] * scale[row] * weight[i];
  out[row * C + threadIdx.x] += 1.0f;
}
// --- pairs refuses: is read behind a store into `x`
__global__ void pairs(float* x, const float* w, int n, int half) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int k = i / half * 2 * half + i % half;
        x[k] = 2.0f * w[i % half];
        x[k + half] += 1.0f;
    }
}
void run(float* x, const float* w, int n, int half) {
    pairs<<<(n + 255) / 256, 256>>>(x, w, n, half);
}
// --- pairs refuses: only under a condition
__global__ void pairs(float* x, const float* w, int n, int half) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int k = i / half * 2 * half + i % half;
        if (half > n) x[k] = w[i % half];
    }
}
void run(float* x, const float* w, int n, int half) {
    pairs<<<(n + 255) / 256, 256>>>(x, w, n, half);
}
// --- pairs refuses: is written and touched at another place
__global__ void pairs(float* x, const float* w, int n, int half) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] = w[i % half] + x[i % half * 5];
    }
}
void run(float* x, const float* w, int n, int half) {
    pairs<<<(n + 255) / 256, 256>>>(x, w, n, half);
}
// --- pairs refuses: `half` is changed by the kernel
__global__ void pairs(float* x, const float* w, int n, int half) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        half = half + 1;
        x[i / half * half + i % half] = w[i % half];
    }
}
void run(float* x, const float* w, int n, int half) {
    pairs<<<(n + 255) / 256, 256>>>(x, w, n, half);
}
// --- pairs refuses: has several values
__global__ void pairs(float* x, const float* w, int n, int half) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int k = i / half * 2 * half;
        k += i % half;
        x[k] = w[i % half];
    }
}
void run(float* x, const float* w, int n, int half) {
    pairs<<<(n + 255) / 256, 256>>>(x, w, n, half);
}
// --- recur refuses: what an earlier round wrote
__global__ void recur(float* x, int n, int C) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < n) {
        float* row = x + r * C;
        float* next = x + r * C + 1;
        for (int j = 0; j < C; j++) {
            next[j] = 0.5f * row[j];
        }
    }
}
void run(float* x, int n, int C) {
    recur<<<(n + 127) / 128, 128>>>(x, n, C);
}
// --- by_place refuses: uses its thread or its block beside `i`
__global__ void by_place(float* out, const float* x, const float* w, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = x[i] * w[threadIdx.x];
    }
}
void run(float* out, const float* x, const float* w, int n) {
    by_place<<<(n + 255) / 256, 256>>>(out, x, w, n);
}
// --- by_place refuses: uses its thread or its block beside `i`
__global__ void by_place(float* out, const float* x, const float* w, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = x[i] * w[blockIdx.x];
    }
}
void run(float* out, const float* x, const float* w, int n) {
    by_place<<<(n + 255) / 256, 256>>>(out, x, w, n);
}
// --- by_place refuses: uses its thread or its block beside `i`
__global__ void by_place(float* out, const float* x, const float* w, int n) {
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    if (i < n) {
        out[i] = x[i] * w[t];
    }
}
void run(float* out, const float* x, const float* w, int n) {
    by_place<<<(n + 255) / 256, 256>>>(out, x, w, n);
}
// --- shifted_rows applies
template <typename T, int THREADS>
__global__ void shifted_rows(T* __restrict__ y, const T* __restrict__ x, const float* __restrict__ by, int C) {
    const size_t base = (size_t)blockIdx.x * C;
    const T* row = x + base;
    for (int i = threadIdx.x; i < C; i += THREADS) {
        const T v = row[i];
        y[base + i] = v < T(0) ? v : T(v + by[i / 8]);
    }
}
void run(float* y, const float* x, const float* by, int N, int C) {
    shifted_rows<float, 64><<<N, 64>>>(y, x, by, C);
}
// --- shifted_rows becomes
template <typename T, int THREADS>
__global__ void shifted_rows(T* __restrict__ y, const T* __restrict__ x, const float* __restrict__ by, int C) {
    const size_t base = (size_t)blockIdx.x * C;
    const T* row = x + base;
    // Whole groups of four that wide accesses may take; the loop after them does what is left.
    int quads = sizeof(T) == 4 && (reinterpret_cast<size_t>(row) | reinterpret_cast<size_t>(&y[base])) % 16 == 0 ? C / 4 : 0;
    for (int quad = threadIdx.x; quad < quads; quad += THREADS) {
        alignas(16) T row_quad[4];
        *reinterpret_cast<uint4*>(row_quad) = reinterpret_cast<const uint4*>(row)[quad];
        alignas(16) T y_quad[4];
        #pragma unroll
        for (int lane = 0; lane < 4; lane++) {
            int i = 4 * quad + lane;
            const T v = row_quad[lane];
            y_quad[lane] = v < T(0) ? v : T(v + by[i / 8]);
        }
        reinterpret_cast<uint4*>(&y[base])[quad] = *reinterpret_cast<uint4*>(y_quad);
    }
    for (int i = 4 * quads + threadIdx.x; i < C; i += THREADS) {
        const T v = row[i];
        y[base + i] = v < T(0) ? v : T(v + by[i / 8]);
    }
}
void run(float* y, const float* x, const float* by, int N, int C) {
    shifted_rows<float, 64><<<N, 64>>>(y, x, by, C);
}
// --- mixed refuses: no elements of a plain type
// Sixteen bytes are four of one type and two of the other.
template <typename T>
__global__ void mixed(T* y, int C) {
    for (int i = threadIdx.x; i < C; i += blockDim.x) y[i] += T(1);
}
void run(float* y, double* z, int C) {
    mixed<float><<<1, 64>>>(y, C);
    mixed<double><<<1, 64>>>(z, C);
}
// --- largest applies
__global__ void largest(float* __restrict__ y, const float* __restrict__ x, int C) {
    __shared__ float part[256];
    const float* row = x + blockIdx.x * C;
    float best = -1e30f;
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        float v = fabsf(row[i]);
        if (v > best) { best = v; }
    }
    part[threadIdx.x] = best;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (threadIdx.x < s) { part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + s]); }
        __syncthreads();
    }
    if (threadIdx.x == 0) { y[blockIdx.x] = part[0]; }
}
void run(float* y, const float* x, int rows, int C) { largest<<<rows, 256>>>(y, x, C); }
// --- largest becomes
__global__ void largest(float* __restrict__ y, const float* __restrict__ x, int C) {
    __shared__ float part[256];
    const float* row = x + blockIdx.x * C;
    float best = -1e30f;
    // Whole groups of four that wide accesses may take; the loop after them does what is left.
    int quads = reinterpret_cast<size_t>(row) % 16 == 0 ? C / 4 : 0;
    for (int quad = threadIdx.x; quad < quads; quad += blockDim.x) {
        alignas(16) float row_quad[4];
        *reinterpret_cast<float4*>(row_quad) = reinterpret_cast<const float4*>(row)[quad];
        #pragma unroll
        for (int lane = 0; lane < 4; lane++) {
            float v = fabsf(row_quad[lane]);
            if (v > best) { best = v; }
        }
    }
    for (int i = 4 * quads + threadIdx.x; i < C; i += blockDim.x) {
        float v = fabsf(row[i]);
        if (v > best) { best = v; }
    }
    part[threadIdx.x] = best;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (threadIdx.x < s) { part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + s]); }
        __syncthreads();
    }
    if (threadIdx.x == 0) { y[blockIdx.x] = part[0]; }
}
void run(float* y, const float* x, int rows, int C) { largest<<<rows, 256>>>(y, x, C); }
// --- placed refuses: not a sum or a choice over all
// Of equal elements, another one would be remembered by each thread.
__global__ void placed(float* __restrict__ y, const float* __restrict__ x, int C) {
    const float* row = x + blockIdx.x * C;
    float best = -1e30f;
    int at = 0;
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        float v = row[i];
        if (v > best) { best = v; at = i; }
    }
    y[blockIdx.x * blockDim.x + threadIdx.x] = best + at;
}
void run(float* y, const float* x, int rows, int C) { placed<<<rows, 256>>>(y, x, C); }
// --- block_sums refuses: each block writes what it has of its own elements
__global__ void block_sums(float* out, const float* x, int n) {
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        sum += x[i];
    }
    atomicAdd(&out[blockIdx.x], sum);
}

void launch(float* out, const float* x, int n) {
    block_sums<<<32, 256>>>(out, x, n);
}
// --- block_sums refuses: each block writes what it has of its own elements
__global__ void block_sums(float* out, const float* x, int n) {
    __shared__ float buf[256];
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    buf[threadIdx.x] = sum;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (threadIdx.x < s) buf[threadIdx.x] += buf[threadIdx.x + s];
        __syncthreads();
    }
    int place = blockIdx.x;
    if (threadIdx.x == 0) out[place] = buf[0];
}

void launch(float* out, const float* x, int n) {
    block_sums<<<32, 256>>>(out, x, n);
}
// --- record_step applies
struct Record { float weight, grad, mean, steps; };

__global__ void record_step(Record* records, const float* rate, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    records[i].mean = 0.9f * records[i].mean + 0.1f * records[i].grad;
    records[i].weight -= rate[0] * records[i].mean;
    if (records[i].weight < 0.0f) records[i].steps += 1.0f;
}

void launch(Record* records, const float* rate, size_t n) {
    record_step<<<(n + 255) / 256, 256>>>(records, rate, n);
}
// --- record_step becomes
struct Record { float weight, grad, mean, steps; };

__global__ void record_step(Record* records, const float* rate, size_t n) {
    size_t group = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (sizeof(Record) == 16 && reinterpret_cast<size_t>(records) % 16 == 0 && group < n) {
        alignas(16) Record records_group[1];
        *reinterpret_cast<uint4*>(records_group) = reinterpret_cast<const uint4*>(records)[group];
        #pragma unroll
        for (int lane = 0; lane < 1; lane++) {
            records_group[lane].mean = 0.9f * records_group[lane].mean + 0.1f * records_group[lane].grad;
            records_group[lane].weight -= rate[0] * records_group[lane].mean;
            if (records_group[lane].weight < 0.0f) records_group[lane].steps += 1.0f;
        }
        reinterpret_cast<uint4*>(records)[group] = *reinterpret_cast<uint4*>(records_group);
    } else if (group <= n) {
        for (size_t i = group; i < n && i - group < 1; i++) {
            records[i].mean = 0.9f * records[i].mean + 0.1f * records[i].grad;
            records[i].weight -= rate[0] * records[i].mean;
            if (records[i].weight < 0.0f) records[i].steps += 1.0f;
        }
    }
}

void launch(Record* records, const float* rate, size_t n) {
    record_step<<<(n + 255) / 256, 256>>>(records, rate, n);
}
// --- nearer applies
typedef struct { float far; int at; } Near;

__global__ void nearer(Near* best, const Near* other, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Near& own = best[i];
        const Near& one = other[i];
        if (one.far < own.far) own = one;
    }
}

void launch(Near* best, const Near* other, int n) {
    nearer<<<(n + 255) / 256, 256>>>(best, other, n);
}
// --- nearer becomes
typedef struct { float far; int at; } Near;

__global__ void nearer(Near* best, const Near* other, int n) {
    int pair = blockIdx.x * blockDim.x + threadIdx.x;
    if (sizeof(Near) == 8 && (reinterpret_cast<size_t>(best) | reinterpret_cast<size_t>(other)) % 16 == 0 && pair < n / 2) {
        alignas(16) Near best_pair[2];
        *reinterpret_cast<uint4*>(best_pair) = reinterpret_cast<const uint4*>(best)[pair];
        alignas(16) Near other_pair[2];
        *reinterpret_cast<uint4*>(other_pair) = reinterpret_cast<const uint4*>(other)[pair];
        #pragma unroll
        for (int lane = 0; lane < 2; lane++) {
            Near& own = best_pair[lane];
            const Near& one = other_pair[lane];
            if (one.far < own.far) own = one;
        }
        reinterpret_cast<uint4*>(best)[pair] = *reinterpret_cast<uint4*>(best_pair);
    } else if (pair <= n / 2) {
        for (int i = 2 * pair; i < n && i - 2 * pair < 2; i++) {
            Near& own = best[i];
            const Near& one = other[i];
            if (one.far < own.far) own = one;
        }
    }
}

void launch(Near* best, const Near* other, int n) {
    nearer<<<(((n + 255) / 256) + 1) / 2, 256>>>(best, other, n);
}
// --- marked refuses: written and touched at another place
struct Mark { float value; int next; };

__global__ void marked(Mark* marks, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) marks[i].value += marks[marks[i].next].value;
}
// --- triples refuses: written and touched at another place
struct Triple { float x, y, z; };

__global__ void triples(Triple* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i].x = out[i].y + out[i].z;
}
