# ruff: noqa: E501
"""Dropout, quantisation, packing, an optimiser's step, integer coordinates: one thread an element."""

from ..model import Ground, Pair, workload_of

PHILOX = """__device__ uint2 mulhilo(unsigned a, unsigned b) { return make_uint2(__umulhi(a, b), a * b); }
__device__ uint4 philox(unsigned long long counter, unsigned long long seed) {
    uint4 c = make_uint4((unsigned)counter, (unsigned)(counter >> 32), 0, 0);
    unsigned k0 = (unsigned)seed, k1 = (unsigned)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint2 a = mulhilo(0xD2511F53u, c.x), b = mulhilo(0xCD9E8D57u, c.z);
        c = make_uint4(b.x ^ c.y ^ k0, b.y, a.x ^ c.w ^ k1, a.y);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c;
}
"""
DROPOUT = Ground(
    "dropout",
    PHILOX
    + """__global__ void dropout(float *y, const float *x, float p, long long seed, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint4 r = philox(i / 4, seed);
    unsigned bits = i % 4 == 0 ? r.x : i % 4 == 1 ? r.y : i % 4 == 2 ? r.z : r.w;
    y[i] = bits * 2.3283064e-10f >= p ? x[i] / (1.0f - p) : 0.0f;
}
""",
    workload_of("dropout", {"n": [61, 512]}, [
        ("y", "output", "float32", "n"), ("x", "input", "float32", "n"), ("p", "scalar", "float32", "0.25"),
        ("seed", "scalar", "int64", "1234"), ("n", "scalar", "int32", "n")], "ceil_div(n, 128)", 128, {"n": 1 << 18}),
)  # fmt: skip
FOUR_AT_ONCE = (
    PHILOX
    + """__global__ void dropout(float *y, const float *x, float p, long long seed, int n) {
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    uint4 r = philox(i / 4, seed);
    unsigned bits[4] = {r.x, r.y, r.z, r.w};
    for (int k = 0; k < 4; k++)
        if (BOUND) y[i + k] = bits[k] * 2.3283064e-10f >= p ? x[i + k] / (1.0f - p) : 0.0f;
}
"""
)
QUANT = Ground(
    "quant",
    """__global__ void quant(signed char *q, float *scale, const float *x, int C) {
    __shared__ float part[64];
    const float *row = x + (size_t)blockIdx.x * C;
    int t = threadIdx.x;
    float most = 0.0f;
    for (int c = t; c < C; c += 64) most = fmaxf(most, fabsf(row[c]));
    part[t] = most;
    __syncthreads();
    for (int k = 32; k > 0; k /= 2) { if (t < k) part[t] = fmaxf(part[t], part[t + k]); __syncthreads(); }
    float s = part[0] > 0.0f ? part[0] / 127.0f : 1.0f;
    for (int c = t; c < C; c += 64) q[(size_t)blockIdx.x * C + c] = (signed char)fminf(fmaxf(rintf(row[c] / s), -127.0f), 127.0f);
    if (t == 0) scale[blockIdx.x] = s;
}
""",
    workload_of("quant", {"N": [1, 4], "C": [33, 256]}, [
        ("q", "output", "int8", "N,C"), ("scale", "output", "float32", "N"), ("x", "input", "float32", "N,C"),
        ("C", "scalar", "int32", "C")], "N", 64, {"N": 64, "C": 2048}),
)  # fmt: skip
SCALED = Ground(
    "scaled",
    """__global__ void scaled(signed char *q, const float *x, const float *s, float z, int C, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) q[i] = (signed char)fminf(fmaxf(rintf(x[i] / s[i % C] + z), -128.0f), 127.0f);
}
""",
    workload_of("scaled", {"N": [1, 5], "C": [40, 128]}, [
        ("q", "output", "int8", "N,C"), ("x", "input", "float32", "N,C"), ("s", "input", "float32", "C", "uniform(0.01, 2.0)"),
        ("z", "scalar", "float32", "3.0"), ("C", "scalar", "int32", "C"), ("n", "scalar", "int32", "N * C")],
        "ceil_div(N * C, 128)", 128, {"N": 512, "C": 1024}),
)  # fmt: skip
NIBBLES = Ground(
    "nibbles",
    """__global__ void nibbles(float *y, const signed char *packed, const float *scale, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int byte = packed[i / 2] & 255;
    int v = i % 2 ? byte >> 4 : byte & 15;
    y[i] = (v - 8) * scale[i / 64];
}
""",
    workload_of("nibbles", {"n": [64, 448]}, [
        ("y", "output", "float32", "n"), ("packed", "input", "int8", "(n + 1) // 2", "integers"),
        ("scale", "input", "float32", "n"), ("n", "scalar", "int32", "n")],
        "ceil_div(n, 128)", 128, {"n": 1 << 16}),
)  # fmt: skip
ADAM = Ground(
    "adamw",
    """__global__ void adamw(float *p, float *m, float *v, const float *g, float lr, float decay, float c1, float c2, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float d = g[i];
    float a = 0.9f * m[i] + 0.1f * d;
    float b = 0.999f * v[i] + 0.001f * d * d;
    m[i] = a;
    v[i] = b;
    p[i] = p[i] - lr * (a / c1 / (sqrtf(b / c2) + 1e-8f) + decay * p[i]);
}
""",
    workload_of("adamw", {"n": [50, 777]}, [
        ("p", "inout", "float32", "n"), ("m", "inout", "float32", "n"), ("v", "inout", "float32", "n", "positive"),
        ("g", "input", "float32", "n"), ("lr", "scalar", "float32", "0.01"), ("decay", "scalar", "float32", "0.0"),
        ("c1", "scalar", "float32", "0.19"), ("c2", "scalar", "float32", "0.002"), ("n", "scalar", "int32", "n")],
        "ceil_div(n, 128)", 128, {"n": 1 << 18}),
)  # fmt: skip
BF16 = Ground(
    "halve",
    """__global__ void halve(unsigned short *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned u = __float_as_uint(x[i]);
    if ((u & 0x7fffffffu) > 0x7f800000u) y[i] = (unsigned short)((u >> 16) | 64u);
    else y[i] = (unsigned short)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}
""",
    workload_of("halve", {"n": [100, 515]}, [
        ("y", "output", "uint16", "n"), ("x", "input", "float32", "n"), ("n", "scalar", "int32", "n")],
        "ceil_div(n, 128)", 128, {"n": 1 << 18}),
)  # fmt: skip
CELLS = Ground(
    "cells",
    """__device__ int below(int a, int b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
__global__ void cells(int *y, const int *x, int origin, int size, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = below(x[i] - origin, size);
}
""",
    workload_of("cells", {"n": [90, 300]}, [
        ("y", "output", "int32", "n"), ("x", "input", "int32", "n", "integers(0, 1000)"),
        ("origin", "scalar", "int32", "100"), ("size", "scalar", "int32", "16"), ("n", "scalar", "int32", "n")],
        "ceil_div(n, 128)", 128, {"n": 1 << 18}),
)  # fmt: skip
KEEP = "y[i] = bits * 2.3283064e-10f >= p ? x[i] / (1.0f - p) : 0.0f;"
PAIRS = (
    Pair("only half of the seed is used", "cheat", DROPOUT, (("k1 = (unsigned)(seed >> 32);", "k1 = 0;"),), (("k1 = (unsigned)(seed >> 32);", "k1 = (unsigned)((unsigned long long)seed >> 32);"),)),
    Pair("a mask that is multiplied", "values", DROPOUT, ((KEEP, "y[i] = (bits * 2.3283064e-10f >= p ? 1.0f / (1.0f - p) : 0.0f) * x[i];"),), ((KEEP, "y[i] = bits * 2.3283064e-10f < p ? 0.0f : x[i] / (1.0f - p);"),)),
    Pair("four numbers at once without the tail", "tail", DROPOUT, FOUR_AT_ONCE.replace("BOUND", "i + 3 < n"), FOUR_AT_ONCE.replace("BOUND", "i + k < n"), True),
    Pair("a row of zeros divides by zero", "values", QUANT, (("part[0] > 0.0f ? part[0] / 127.0f : 1.0f", "part[0] / 127.0f"),), (("part[0] > 0.0f ? part[0] / 127.0f : 1.0f", "part[0] == 0.0f ? 1.0f : part[0] / 127.0f"),)),
    Pair("signs are lost in the largest value", "values", QUANT, (("fmaxf(most, fabsf(row[c]))", "fmaxf(most, row[c])"),), (("fmaxf(most, fabsf(row[c]))", "fmaxf(fabsf(row[c]), most)"),), True),
    Pair("the largest of the first thousand", "cheat", QUANT, (("for (int c = t; c < C; c += 64) most", "for (int c = t; c < min(C, 1024); c += 64) most"),), (("for (int c = t; c < C; c += 64) most", "for (int c = t; c < min(C, 1 << 30); c += 64) most"),)),
    Pair("halves of a scaled row go up", "values", QUANT, (("rintf(row[c] / s)", "floorf(row[c] / s + 0.5f)"),), (("rintf(row[c] / s)", "nearbyintf(row[c] / s)"),)),
    Pair("halves of a quotient go up", "values", SCALED, (("rintf(x[i] / s[i % C] + z)", "floorf(x[i] / s[i % C] + z + 0.5f)"),), (("x[i] / s[i % C] + z", "x[i] * (1.0f / s[i % C]) + z"),)),
    Pair("halves of a quotient go from zero", "values", SCALED, (("rintf(", "roundf("),), (("rintf(", "nearbyintf("),), True),
    Pair("a signed byte is shifted", "values", NIBBLES, (("packed[i / 2] & 255", "packed[i / 2]"),), (("packed[i / 2] & 255", "(unsigned char)packed[i / 2]"),), True),
    Pair("groups counted in bytes", "tail", NIBBLES, (("scale[i / 64]", "scale[i / 2 / 32 + (i > 40000)]"),), (("scale[i / 64]", "scale[i / 2 / 32]"),)),
    Pair("the small number under the root", "values", ADAM, (("(sqrtf(b / c2) + 1e-8f)", "sqrtf(b / c2 + 1e-8f)"),), (("a / c1 / (sqrtf(b / c2) + 1e-8f)", "(a / c1) / (1e-8f + sqrtf(b / c2))"),)),
    Pair("the decay is zero in the workload", "cheat", ADAM, ((" + decay * p[i])", ")"),), ((" + decay * p[i])", " + p[i] * decay)"),), True),
    Pair("corrections that are forgotten for small steps", "values", ADAM, (("a / c1 /", "a / (c1 < 0.01f ? 1.0f : c1) /"),), (("a / c1 /", "a * (1.0f / c1) /"),)),
    Pair("a NaN rounds to infinity's other side", "values", BF16, (("if ((u & 0x7fffffffu) > 0x7f800000u) y[i] = (unsigned short)((u >> 16) | 64u);\n    else ", ""),), (("(u & 0x7fffffffu) > 0x7f800000u", "x[i] != x[i]"),)),
    Pair("halves round up", "precision", BF16, (("u + 0x7fffu + ((u >> 16) & 1u)", "u + 0x8000u"),), (("u + 0x7fffu + ((u >> 16) & 1u)", "u + ((u >> 16) & 1u) + 0x7fffu"),), True),
    Pair("division that goes towards zero", "values", CELLS, (("return a / b - (a % b != 0 && (a < 0) != (b < 0));", "return a / b;"),), (("return a / b - (a % b != 0 && (a < 0) != (b < 0));", "int q = a / b; return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;"),)),
    Pair("a shift for the size of the workload", "cheat", CELLS, (("below(x[i] - origin, size)", "(x[i] - origin) >> 4"),), (("below(x[i] - origin, size)", "size == 16 ? (x[i] - origin) >> 4 : below(x[i] - origin, size)"),), True),
)  # fmt: skip
