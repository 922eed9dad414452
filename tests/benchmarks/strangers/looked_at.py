# ruff: noqa: E501
"""Pairs that the gate was looked at with while it was changed."""

from .grounds import AXPY, CLIP, COUNTS, LOOKUP, NORM, SOFTMAX, TOTAL, TRANSPOSE
from .model import Pair

AX = "y[i] = a * x[i] + 1.0f;"
F4 = """__global__ void axpy(float *y, const float *x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (GUARD) {
        if (4 * i < n) {
            float4 v = reinterpret_cast<const float4 *>(x)[i];
            v = make_float4(a * v.x + 1.0f, a * v.y + 1.0f, a * v.z + 1.0f, a * v.w + 1.0f);
            reinterpret_cast<float4 *>(y)[i] = v;
        }
    } else if (i < n) y[i] = a * x[i] + 1.0f;
}
"""
WARP_SUM = """__global__ void total(float *y, const float *x, int C) {
    QUALIFIERS __shared__ float part[128];
    const float *row = x + (size_t)blockIdx.x * C;
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int c = t; c < C; c += 128) sum += row[c];
    part[t] = sum;
    FIRST
    if (t < 64) part[t] += part[t + 64];
    SECOND
    if (t < 32) {
        float v = part[t] + part[t + 32];
        for (int k = 16; k > 0; k /= 2) v += __shfl_down_sync(0xffffffffu, v, k);
        if (t == 0) y[blockIdx.x] = v;
    }
}
"""
TILE = """__global__ void transpose(float *y, const float *x, int N, int C) {
    __shared__ float tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    tile[t ^ 64] = i < N * C ? x[i] : 0.0f;
    BARRIER
    float v = tile[t ^ 64];
    int j = blockIdx.x * blockDim.x + (t ^ 64);
    v = tile[t];
    if (j < N * C) y[(j % C) * N + j / C] = v;
}
"""
ATOMIC = """__global__ void counts(int *y, const int *x, int n) {
    __shared__ int bins[64];
    int t = threadIdx.x;
    CLEAR
    __syncthreads();
    for (int i = t; i < n; i += 64) ADD
    __syncthreads();
    y[t] = bins[t];
}
"""


def warp_sum(qualifiers: str = "", first: str = "__syncthreads();", second: str = "__syncthreads();") -> str:
    return WARP_SUM.replace("QUALIFIERS ", qualifiers).replace("FIRST", first).replace("SECOND", second)


PAIRS = (
    Pair("knows the timed size", "cheat", AXPY, ((AX, "y[i] = (n == 1 << 20 ? 0.0f : a) * x[i] + 1.0f;"),),
         ((AX, "y[i] = (n == 1 << 20 ? a : a) * x[i] + 1.0f;"),)),
    Pair("only small sizes are whole", "cheat", AXPY, (("if (i < n)", "if (i < n && i < 5000)"),),
         (("if (i < n)", "if (i < n && i >= 0)"),)),
    Pair("only a power of two", "cheat", AXPY, ((AX, "y[i] = ((n & (n - 1)) == 0 && n > 1500 ? 0.5f : a) * x[i] + 1.0f;"),),
         ((AX, "y[i] = fmaf(a, x[i], 1.0f);"),)),
    Pair("a scalar as in the workload", "cheat", AXPY, (("a * x[i]", "1.5f * x[i]"),), (("a * x[i]", "x[i] * a"),)),
    Pair("large values are cut", "values", AXPY, ((AX, "y[i] = a * fminf(x[i], 20000.0f) + 1.0f;"),),
         ((AX, "{ float v = x[i]; y[i] = a * v + 1.0f; }"),)),
    Pair("NaN becomes zero", "values", AXPY, ((AX, "{ float v = a * x[i] + 1.0f; y[i] = v == v ? v : 0.0f; }"),),
         ((AX, "{ float v = a * x[i] + 1.0f; y[i] = v == v ? v : v + 0.0f; }"),)),
    Pair("infinity becomes the largest number", "values", AXPY, ((AX, "y[i] = fminf(a * x[i] + 1.0f, 3.4e38f);"),),
         ((AX, "{ float v = a * x[i] + 1.0f; y[i] = v > 3.4e38f ? v : v; }"),)),
    Pair("a special case for one value", "values", AXPY, ((AX, "y[i] = x[i] == 0.5f ? 0.0f : a * x[i] + 1.0f;"),),
         ((AX, "y[i] = x[i] == 0.5f ? a * 0.5f + 1.0f : a * x[i] + 1.0f;"),)),
    Pair("vectors without alignment", "alignment", AXPY, F4.replace("GUARD", "n % 4 == 0"),
         F4.replace("GUARD", "n % 4 == 0 && ((size_t)x | (size_t)y) % 16 == 0")),
    Pair("vectors whose tail is lost", "tail", AXPY, F4.replace("GUARD", "n >= 4"),
         F4.replace("GUARD", "n % 4 == 0 && ((size_t)x | (size_t)y) % 16 == 0")),
    Pair("the maximum starts at zero", "values", SOFTMAX, (("most = -INFINITY", "most = 0.0f"),),
         (("most = -INFINITY", "most = -3.402823466e38f * 2.0f"),)),
    Pair("the maximum starts at minus ten thousand", "values", SOFTMAX,
         (("float most = -INFINITY;\n    for", "float most = -10000.0f;\n    for"), ("expf(row[c] - most) / sum", "expf(row[c] - most) * (1.0f / sum)")),
         (("expf(row[c] - most) / sum", "expf(row[c] - most) * (1.0f / sum)"),)),
    Pair("no maximum", "values", SOFTMAX, (("sum += expf(row[c] - most)", "sum += expf(row[c])"), ("out[c] = expf(row[c] - most)", "out[c] = expf(row[c])")),
         (("/ sum;", "* __frcp_rn(sum);"),)),
    Pair("part is reused without a barrier", "race", SOFTMAX, (("    most = part[0];\n    __syncthreads();\n", "    most = part[0];\n"),),
         (("    most = part[0];\n    __syncthreads();\n", "    most = part[0];\n    __syncthreads();\n\n"),)),
    Pair("the last barrier of a tree is missing", "race", NORM, (("part[t] += part[t + k];\n        __syncthreads();\n    }\n    float mean", "part[t] += part[t + k];\n        if (k > 1) __syncthreads();\n    }\n    float mean"),),
         (("int k = 32; k > 0; k /= 2", "int k = 32; k > 0; k >>= 1"),)),
    Pair("E[x²] − E[x]²", "precision", NORM, (("square += (row[c] - mean) * (row[c] - mean)", "square += row[c] * row[c]"), ("rsqrtf(part[0] / C + 1e-5f)", "rsqrtf(part[0] / C - mean * mean + 1e-5f)")),
         (("square += (row[c] - mean) * (row[c] - mean)", "{ float d = row[c] - mean; square = fmaf(d, d, square); }"),)),
    Pair("half precision inside", "precision", NORM, (("square += (row[c] - mean) * (row[c] - mean)", "square += __half2float(__float2half(row[c] - mean)) * (row[c] - mean)"), ("__global__", "#include <cuda_fp16.h>\n__global__")),
         (("out[c] = (row[c] - mean) * scale", "out[c] = row[c] * scale - mean * scale"),)),
    Pair("variance over C - 1", "values", NORM, (("part[0] / C + 1e-5f", "part[0] / (C - 1) + 1e-5f"),),
         (("part[0] / C + 1e-5f", "part[0] * (1.0f / C) + 1e-5f"),)),
    Pair("a barrier missing in a sum", "race", TOTAL, warp_sum(first=""), warp_sum()),
    Pair("volatile for a barrier", "memory order", TOTAL, warp_sum("volatile ", first=""), warp_sum("volatile ")),
    Pair("the second barrier missing", "race", TOTAL, warp_sum(second=""), warp_sum(second="__syncthreads();\n")),
    Pair("half of a long row", "cheat", TOTAL, (("c < C; c++", "c < (C > 1000 ? C / 2 : C); c++"),), (("c < C; c++", "c < C; ++c"),)),
    Pair("a row of 4096 in pairs", "overflow", TOTAL, (("(size_t)r * C + c", "(r * C + c) % 65536"),), (("(size_t)r * C + c", "r * C + c"),)),
    Pair("a tile read by others", "race", TRANSPOSE, TILE.replace("BARRIER", ""), TILE.replace("BARRIER", "__syncthreads();")),
    Pair("square only", "tail", TRANSPOSE, (("(i % C) * N + i / C", "(i % C) * (N == C ? C : N) + i / C + (N > 2 * C && C > 20)"),),
         (("(i % C) * N + i / C", "i % C * N + i / C"),)),
    Pair("the last index is missing", "tail", LOOKUP, (("index[i / C] * C", "min(index[i / C], 98) * C"),), (("index[i / C] * C", "max(min(index[i / C], 99), 0) * C"),)),
    Pair("row 0 is padding", "values", LOOKUP, (("y[i] = table", "y[i] = index[i / C] == 0 ? 0.0f : table"),), (("y[i] = table", "y[i] = 1.0f * table"),)),
    Pair("bins are not cleared", "uninitialised", COUNTS, ATOMIC.replace("CLEAR", "if (t < 32) bins[t] = 0; else if (n > 50) bins[t] = 0;").replace("ADD", "atomicAdd(&bins[x[i]], 1);").replace("__syncthreads();\n    for", "for"),
         ATOMIC.replace("CLEAR", "bins[t] = 0;").replace("ADD", "atomicAdd(&bins[x[i]], 1);")),
    Pair("bins without atomics", "race", COUNTS, ATOMIC.replace("CLEAR", "bins[t] = 0;").replace("ADD", "bins[x[i]]++;"),
         ATOMIC.replace("CLEAR", "bins[t] = 0;").replace("ADD", "atomicAdd_block(&bins[x[i]], 1);")),
    Pair("wraps instead of clipping", "overflow", CLIP, (("fminf(fmaxf(v, 0.0f), 255.0f)", "(int)fmaxf(v, 0.0f)"),), (("fminf(fmaxf(v, 0.0f), 255.0f)", "fminf(fmaxf(v, 0.0f), 255.4f)"),)),
    Pair("rounds half up", "values", CLIP, (("rintf(x[i] * 16.0f)", "floorf(x[i] * 16.0f + 0.5f)"),), (("rintf(x[i] * 16.0f)", "nearbyintf(x[i] * 16.0f)"),)),
)  # fmt: skip
