# ruff: noqa: E501
"""Wide shifts, even windows, single elements, rows of infinities, flushed numbers, state, the last block. Never looked at while the gate changed."""

from functools import partial

from .. import fresh
from ..fresh import AT, ground
from ..kinds.blocks import ground as program
from ..kinds.blocks import launched

each = partial(fresh.each, untuned=True)
POWERS = ground(
    "powers",
    f"""__global__ void powers(long long *y, const int *k, int n) {{
    {AT}
    if (i < n) y[i] = 1LL << k[i];
}}
""",
    {"n": [90, 500]}, [("y", "output", "int64", "n"), ("k", "input", "int32", "n", "integers(0, 63)"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 128)", 128, {"n": 1 << 18},
)  # fmt: skip
WINDOW = ground(
    "window",
    f"""__global__ void window(float *y, const float *x, int w, int n) {{
    {AT}
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < w; k++) {{
        int j = i + k - w / 2;
        if (j >= 0 && j < n) sum += x[j];
    }}
    y[i] = sum;
}}
""",
    {"n": [90, 500]}, [("y", "output", "float32", "n"), ("x", "input", "float32", "n"), ("w", "scalar", "int32", "5"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 128)", 128, {"n": 1 << 16},
)  # fmt: skip
SPAN = ground(
    "span",
    f"""__global__ void span(float *y, const float *ends, int n) {{
    {AT}
    if (i < n) y[i] = n == 1 ? ends[0] : ends[0] + (ends[1] - ends[0]) * ((float)i / (float)(n - 1));
}}
""",
    {"n": [90, 500]}, [("y", "output", "float32", "n"), ("ends", "input", "float32", "2"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 128)", 128, {"n": 1 << 18},
)  # fmt: skip
LOGSUM = ground(
    "logsum",
    """__global__ void logsum(float *y, const float *x, int C) {
    const float *row = x + (size_t)blockIdx.x * C;
    if (threadIdx.x) return;
    float most = -INFINITY, sum = 0.0f;
    for (int c = 0; c < C; c++) most = fmaxf(most, row[c]);
    if (most == -INFINITY) { y[blockIdx.x] = most; return; }
    for (int c = 0; c < C; c++) sum += expf(row[c] - most);
    y[blockIdx.x] = most + logf(sum);
}
""",
    {"N": [2, 5], "C": [20, 70]}, [("y", "output", "float32", "N"), ("x", "input", "float32", "N,C"), ("C", "scalar", "int32", "C")],
    "N", 32, {"N": 64, "C": 1024},
)  # fmt: skip
LENGTH = ground(
    "length",
    f"""__global__ void length(float *y, const float *a, const float *b, int n) {{
    {AT}
    if (i < n) y[i] = hypotf(a[i], b[i]);
}}
""",
    {"n": [90, 500]}, [("y", "output", "float32", "n"), ("a", "input", "float32", "n"), ("b", "input", "float32", "n"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 128)", 128, {"n": 1 << 18},
)  # fmt: skip
SOFTPLUS = ground(
    "softplus",
    f"""__global__ void softplus(float *y, const float *x, int n) {{
    {AT}
    if (i < n) y[i] = fmaxf(x[i], 0.0f) + log1pf(expf(-fabsf(x[i])));
}}
""",
    {"n": [90, 500]}, [("y", "output", "float32", "n"), ("x", "input", "float32", "n"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 128)", 128, {"n": 1 << 18},
)  # fmt: skip
RAISED = ground(
    "raised",
    f"""__global__ void raised(float *y, const float *x, int n) {{
    {AT}
    if (i < n) y[i] = x[i] * 1.0e30f;
}}
""",
    {"n": [90, 500]}, [("y", "output", "float32", "n"), ("x", "input", "float32", "n"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 128)", 128, {"n": 1 << 18},
)  # fmt: skip
SHRUNK = ground(
    "shrunk",
    f"""#include <cuda_fp16.h>
__global__ void shrunk(__half *y, const float *x, int n) {{
    {AT}
    if (i < n) y[i] = __float2half(x[i] * 0.0001f);
}}
""",
    {"n": [90, 500]}, [("y", "output", "float16", "n"), ("x", "input", "float32", "n", "uniform(-1, 1)"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 128)", 128, {"n": 1 << 18},
)  # fmt: skip
SUMS = ground(
    "sums",
    """__global__ void sums(int *y, const int *x, int C) {
    __shared__ int total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    for (int c = threadIdx.x; c < C; c += 64) atomicAdd(&total, x[(size_t)blockIdx.x * C + c]);
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = total;
}
""",
    {"N": [2, 5], "C": [70, 300]}, [("y", "output", "int32", "N"), ("x", "input", "int32", "N,C", "integers(-1000, 1000)"), ("C", "scalar", "int32", "C")],
    "N", 64, {"N": 128, "C": 2048},
)  # fmt: skip
JOINED = ground(
    "joined",
    """__device__ unsigned done;
__device__ int parts[1024];
__global__ void joined(int *y, const int *x, int n) {
    __shared__ bool last;
    __shared__ int total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) atomicAdd(&total, x[i]);
    __syncthreads();
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = total;
        __threadfence();
        last = atomicAdd(&done, 1u) == gridDim.x - 1;
        if (last) {
            __threadfence();
            int sum = 0;
            for (int b = 0; b < gridDim.x; b++) sum += ((volatile int *)parts)[b];
            *y = sum;
            done = 0;
        }
    }
}
""",
    {"n": [60, 300]}, [("y", "output", "int32", "1"), ("x", "input", "int32", "n", "integers(-1000, 1000)"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 64)", 64, {"n": 1 << 14},
)  # fmt: skip
TABLE = ground(
    "table",
    f"""__global__ void table(float *y, const float *x, const float *bins, int n) {{
    {AT}
    if (i < n) y[i] = bins[min(max((int)(x[i] * 16.0f), 0), 15)];
}}
""",
    {"n": [60, 64]}, [("y", "output", "float32", "n"), ("x", "input", "float32", "n", "uniform"), ("bins", "input", "float32", "16"), ("n", "scalar", "int32", "n")],
    "1", 64, {"n": 64},
)  # fmt: skip
AHEAD = ground(
    "ahead",
    f"""__global__ void ahead(float *y, const float *x, int n) {{
    {AT}
    if (i < n) y[i] = i < n - 3 ? x[i + 3] - x[i] : 0.0f;
}}
""",
    {"n": [90, 500]}, [("y", "output", "float32", "n"), ("x", "input", "float32", "n"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 128)", 128, {"n": 1 << 18},
)  # fmt: skip
NORMS = ground(
    "norms",
    """__global__ void norms(float *y, const float *x, int C) {
    __shared__ float total;
    const float *row = x + (size_t)blockIdx.x * C;
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int c = 0; c < C; c++) sum += fabsf(row[c]);
        total = sum;
    }
    __syncthreads();
    for (int c = threadIdx.x; c < C; c += 64) y[(size_t)blockIdx.x * C + c] = fabsf(row[c]) / total;
}
""",
    {"N": [2, 5], "C": [70, 300]}, [("y", "output", "float32", "N,C"), ("x", "input", "float32", "N,C"), ("C", "scalar", "int32", "C")],
    "N", 64, {"N": 128, "C": 1024},
)  # fmt: skip
UPPER = program(
    "upper",
    """def upper(y, a, b, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    u = tl.load(a + i, mask=i < n, other=0.0)
    v = tl.load(b + i, mask=i < n, other=0.0)
    tl.store(y + i, tl.maximum(u, v, propagate_nan=tl.PropagateNan.ALL), mask=i < n)
""",
    launched("upper", {"n": [60, 300]}, [
        ("y", "output", "float32", "n"), ("a", "input", "float32", "n"), ("b", "input", "float32", "n"), ("n", "scalar", "int32", "n")], "ceil_div(n, 64)", "64", {"n": 1 << 17}),
)  # fmt: skip
PAIRS = (
    *each(POWERS, ("a shift of 32 bits", "overflow", (("1LL << k[i]", "(long long)(1 << k[i])"),), (("1LL << k[i]", "(long long)(1ULL << k[i])"),))),
    *each(WINDOW, ("an even window has one more", "scalars", (("int k = 0; k < w; k++", "int k = 0; k <= w / 2 * 2; k++"),), (("int k = 0; k < w; k++", "int k = w - 1; k >= 0; k--"),))),
    *each(SPAN, ("one point", "ends", (("n == 1 ? ends[0] : ", ""),), (("n == 1 ? ends[0] : ends[0] + (ends[1] - ends[0]) * ((float)i / (float)(n - 1))", "ends[0] + (ends[1] - ends[0]) * ((float)i / (float)max(n - 1, 1))"),))),
    *each(LOGSUM, ("a row of infinities below", "NaN", (("    if (most == -INFINITY) { y[blockIdx.x] = most; return; }\n", ""),), (("if (most == -INFINITY) { y[blockIdx.x] = most; return; }", "if (!(most > -INFINITY)) { y[blockIdx.x] = -INFINITY; return; }"),))),
    *each(LENGTH, ("squares that overflow", "magnitudes", (("hypotf(a[i], b[i])", "sqrtf(a[i] * a[i] + b[i] * b[i])"),), (("hypotf(a[i], b[i])", "(float)hypot((double)a[i], (double)b[i])"),))),
    *each(SOFTPLUS, ("an exponential that overflows", "magnitudes", (("fmaxf(x[i], 0.0f) + log1pf(expf(-fabsf(x[i])))", "log1pf(expf(x[i]))"),), (("fmaxf(x[i], 0.0f) + log1pf(expf(-fabsf(x[i])))", "x[i] > 0.0f ? x[i] + log1pf(expf(-x[i])) : log1pf(expf(x[i]))"),))),
    *each(RAISED, ("small factors are flushed", "flushed", (("y[i] = x[i] * 1.0e30f", 'asm("mul.ftz.f32 %0, %1, 0f7149F2CA;" : "=f"(y[i]) : "f"(x[i]))'),), (("y[i] = x[i] * 1.0e30f", "y[i] = x[i] * 1.0e15f * 1.0e15f"),))),
    *each(SHRUNK, ("small halves are flushed", "flushed", (("__float2half(x[i] * 0.0001f)", "__float2half(fabsf(x[i] * 0.0001f) < 6.1e-5f ? 0.0f : x[i] * 0.0001f)"),), (("__float2half(x[i] * 0.0001f)", "__float2half_rn(0.0001f * x[i])"),))),
    *each(SUMS, ("an output that was zero", "memory", (("y[blockIdx.x] = total", "atomicAdd(&y[blockIdx.x], total)"),), (("y[blockIdx.x] = total", "atomicExch(&y[blockIdx.x], total)"),))),
    *each(JOINED,
        ("the counter goes on", "state", (("            done = 0;\n", ""),), (("atomicAdd(&done, 1u) == gridDim.x - 1", "atomicInc(&done, gridDim.x - 1) == gridDim.x - 1"), ("            done = 0;\n", ""))),
        ("the highest block comes last", "order", (("atomicAdd(&done, 1u) == gridDim.x - 1", "blockIdx.x == gridDim.x - 1"), ("            done = 0;\n", "")), (("atomicAdd(&done, 1u) == gridDim.x - 1", "atomicAdd(&done, 1u) + 1 == gridDim.x"),))),
    *each(TABLE, ("bins of the first launch", "state", (("__global__", "__device__ float cached[16];\n__device__ int ready;\n__global__"), ("    if (i < n)", "    if (!ready && i < 16) cached[i] = bins[i];\n    __syncthreads();\n    if (i == 0) ready = 1;\n    if (i < n)"), ("= bins[min", "= cached[min")), (("__global__", "__device__ float cached[16];\n__global__"), ("    if (i < n)", "    if (i < 16) cached[i] = bins[i];\n    __syncthreads();\n    if (i < n)"), ("= bins[min", "= cached[min")))),
    *each(AHEAD, ("a difference of unsigned numbers", "overflow", (("i < n - 3", "(unsigned)i < (unsigned)n - 3u"),), (("i < n - 3", "(unsigned)i + 3u < (unsigned)n"),))),
    *each(NORMS, ("the input is a scratch", "memory", (("sum += fabsf(row[c])", "sum += ((float *)row)[c] = fabsf(row[c])"),), (("sum += fabsf(row[c])", "sum += row[c] < 0.0f ? -row[c] : row[c]"),))),
    *each(UPPER, ("a maximum drops NaN", "NaN", ((", propagate_nan=tl.PropagateNan.ALL", ""),), (("tl.maximum(u, v, propagate_nan=tl.PropagateNan.ALL)", "tl.where((u > v) | (u != u), u, v)"),))),
)  # fmt: skip
