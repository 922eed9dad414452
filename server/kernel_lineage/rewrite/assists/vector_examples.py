"""Examples of `vectorise_row_access`: kernels before and after, and kernels that it must leave alone."""

from __future__ import annotations

from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.model import AssistExample, RefusalExample

_SCALE = """\
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
"""

_SCALE_AFTER = """\
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
"""

_GELU = """\
__global__ void gelu(float* out, const float* inp, const float* bias, int n, int c)
{
\tconst int idx = threadIdx.x + blockDim.x * blockIdx.x;
\tif (idx >= n) return;
\t// tanh form
\tfloat v = inp[idx] + bias[idx % c];
\tfloat cube = 0.044715f * v * v * v;
\tout[idx] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + cube)));
}
"""

_GELU_AFTER = """\
__global__ void gelu(float* out, const float* inp, const float* bias, int n, int c)
{
\tconst int quad = threadIdx.x + blockDim.x * blockIdx.x;
\tif ((reinterpret_cast<size_t>(inp) | reinterpret_cast<size_t>(out)) % 16 == 0 && quad < n / 4) {
\t\talignas(16) float inp_quad[4];
\t\t*reinterpret_cast<float4*>(inp_quad) = reinterpret_cast<const float4*>(inp)[quad];
\t\talignas(16) float out_quad[4];
\t\t#pragma unroll
\t\tfor (int lane = 0; lane < 4; lane++) {
\t\t\tint idx = 4 * quad + lane;
\t\t\tfloat v = inp_quad[lane] + bias[idx % c];
\t\t\tfloat cube = 0.044715f * v * v * v;
\t\t\tout_quad[lane] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + cube)));
\t\t}
\t\treinterpret_cast<float4*>(out)[quad] = *reinterpret_cast<float4*>(out_quad);
\t} else if (quad <= n / 4) {
\t\tfor (int idx = 4 * quad; idx < n && idx - 4 * quad < 4; idx++) {
\t\t\tfloat v = inp[idx] + bias[idx % c];
\t\t\tfloat cube = 0.044715f * v * v * v;
\t\t\tout[idx] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + cube)));
\t\t}
\t}
}
"""

_ROW_SUM = """\
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
"""

_ROW_SUM_AFTER = """\
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
"""

_NORMALISE = """\
__global__ void normalise(float* out, const float* x, const float* weight, const float* scale, int C) {
  int row = blockIdx.x;
  for (int i = threadIdx.x; i < C; i += blockDim.x)
    out[row * C + i] = x[row * C + i] * scale[row] * weight[i];
}
"""

_NORMALISE_AFTER = """\
__global__ void normalise(float* out, const float* x, const float* weight, const float* scale, int C) {
  int row = blockIdx.x;
  // Whole groups of four that wide accesses may take; the loop after them does what is left.
  int quads = (reinterpret_cast<size_t>(&out[row * C]) | reinterpret_cast<size_t>(&x[row * C]) | \
reinterpret_cast<size_t>(weight)) % 16 == 0 ? C / 4 : 0;
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
"""


_CENTRE = """\
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
"""

_CENTRE_AFTER = """\
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
"""


def _refused(kernel: str, code: str, reason: str) -> RefusalExample:
    return RefusalExample(Language.CUDA, kernel, code, reason)


_SILU = """\
#include <cuda_fp16.h>

__global__ void silu(const half* x, half* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = __half2float(x[i]);
        float s = 1.0f / (1.0f + expf(-v));
        y[i] = __float2half(v * s);
    }
}
"""

_SILU_AFTER = """\
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
"""

_BIAS_RELU = """\
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
"""

_BIAS_RELU_AFTER = """\
__global__ void bias_relu(signed char* out, float* x, const float* bias, int rows, int cols) {
    int quad = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y;
    if (row < rows && (reinterpret_cast<size_t>(&x[row * cols]) | reinterpret_cast<size_t>(bias)) % 16 == 0 && \
reinterpret_cast<size_t>(&out[row * cols]) % 4 == 0 && quad < cols / 4) {
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
"""

APPLIES = (
    AssistExample(Language.CUDA, "silu", _SILU, _SILU_AFTER),
    AssistExample(Language.CUDA, "bias_relu", _BIAS_RELU, _BIAS_RELU_AFTER),
    AssistExample(Language.CUDA, "scale", _SCALE, _SCALE_AFTER),
    AssistExample(Language.CUDA, "gelu", _GELU, _GELU_AFTER),
    AssistExample(Language.CUDA, "row_sum", _ROW_SUM, _ROW_SUM_AFTER),
    AssistExample(Language.CUDA, "normalise", _NORMALISE, _NORMALISE_AFTER),
    AssistExample(Language.CUDA, "centre", _CENTRE, _CENTRE_AFTER),
)

_TWO_PASSES = """\
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
"""

REFUSES = (
    _refused(
        "scale",
        _SCALE.replace("if (i < n) {", "if (i < n && x[i] > 0) {"),
        "may differ from element to element",
    ),
    _refused(
        "scale",
        _SCALE.replace("float* out, const float* x", "float2* out, const float2* x"),
        "no elements of a plain type",
    ),
    _refused(
        "scale", _SCALE.replace("out[i] = a * x[i];", "if (a > 0) out[i] = x[i];"), "only under a condition"
    ),
    _refused(
        "scale", _SCALE.replace("out[i] = a * x[i];", "out[i] = a * x[i]; if (a < 0) return;"), "ends early"
    ),
    _refused("row_sum", _ROW_SUM.replace("i = lane_id;", "i = 2 * lane_id;"), "each element is taken once"),
    _refused("row_sum", _ROW_SUM.replace("sum += row[i];", "sum = row[i];"), "not a sum or a choice"),
    _refused(
        "row_sum", _ROW_SUM.replace("sum += row[i];", "sum = joined(sum, row[i]);"), "not a sum or a choice"
    ),
    _refused(
        "row_sum", _ROW_SUM.replace("sum += row[i];", "sum = 0.5f * sum + row[i];"), "not a sum or a choice"
    ),
    _refused(
        "row_sum",
        _ROW_SUM.replace("sum += row[i];", "const float* own = row + 1;\n        sum += own[i];"),
        "no elements of a plain type",
    ),
    _refused("softmax", _TWO_PASSES, "without a barrier between"),
    _refused(
        "normalise",
        _NORMALISE.replace("weight[i];\n}", "weight[i];\n  out[row * C + threadIdx.x] += 1.0f;\n}"),
        "touched elsewhere in the kernel",
    ),
)
