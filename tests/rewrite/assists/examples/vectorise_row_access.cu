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
	if ((reinterpret_cast<size_t>(inp) | reinterpret_cast<size_t>(out)) % 16 == 0 && quad < n / 4) {
		alignas(16) float inp_quad[4];
		*reinterpret_cast<float4*>(inp_quad) = reinterpret_cast<const float4*>(inp)[quad];
		alignas(16) float out_quad[4];
		#pragma unroll
		for (int lane = 0; lane < 4; lane++) {
			int idx = 4 * quad + lane;
			float v = inp_quad[lane] + bias[idx % c];
			float cube = 0.044715f * v * v * v;
			out_quad[lane] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + cube)));
		}
		reinterpret_cast<float4*>(out)[quad] = *reinterpret_cast<float4*>(out_quad);
	} else if (quad <= n / 4) {
		for (int idx = 4 * quad; idx < n && idx - 4 * quad < 4; idx++) {
			float v = inp[idx] + bias[idx % c];
			float cube = 0.044715f * v * v * v;
			out[idx] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + cube)));
		}
	}
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
