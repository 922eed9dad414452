# ruff: noqa: E501
"""Values with limits: ties, ends and zeros of either sign within them. Looked at."""

from . import AT, each, ground

QUANTISE = ground(
    "quantise",
    f"""__global__ void quantise(signed char *q, const float *x, float s, int n) {{
    {AT}
    if (i >= n) return;
    float v = rintf(x[i] / s);
    v = fminf(fmaxf(v, -128.0f), 127.0f);
    q[i] = (signed char)v;
}}
""",
    {"n": [100, 700]}, [("q", "output", "int8", "n"), ("x", "input", "float32", "n", "uniform(-3, 3)"), ("s", "scalar", "float32", "0.02"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 128)", 128, {"n": 1 << 20},
)  # fmt: skip
SPREAD = ground(
    "spread",
    f"""__global__ void spread(int *h, const float *x, float lo, float hi, int B, int n) {{
    {AT}
    if (i >= n) return;
    float v = x[i];
    if (!(v >= lo && v <= hi)) return;
    int b = (int)((v - lo) / (hi - lo) * B);
    if (b == B) b = B - 1;
    atomicAdd(&h[b], 1);
}}
""",
    {"n": [90, 600], "B": [16, 20]}, [("h", "inout", "int32", "B", "integers(0, 100)"), ("x", "input", "float32", "n"), ("lo", "scalar", "float32", "-2.0"), ("hi", "scalar", "float32", "2.0"), ("B", "scalar", "int32", "B"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 128)", 128, {"n": 1 << 18, "B": 64},
)  # fmt: skip
BEST = ground(
    "best",
    """__global__ void best(int *y, const float *x, int C) {
    const float *row = x + (size_t)blockIdx.x * C;
    float top = -1.0f;
    int at = C;
    for (int c = threadIdx.x; c < C; c += 32)
        if (row[c] > top) { top = row[c]; at = c; }
    for (int k = 16; k > 0; k /= 2) {
        float other = __shfl_xor_sync(~0u, top, k);
        int where = __shfl_xor_sync(~0u, at, k);
        if (other > top || (other == top && where < at)) { top = other; at = where; }
    }
    if (threadIdx.x == 0) y[blockIdx.x] = at;
}
""",
    {"N": [2, 5], "C": [70, 130]}, [("y", "output", "int32", "N"), ("x", "input", "float32", "N,C", "uniform"), ("C", "scalar", "int32", "C")],
    "N", 32, {"N": 512, "C": 1024},
)  # fmt: skip
GATE = ground(
    "threshold",
    f"""__global__ void threshold(float *y, const float *x, float t, float v, int n) {{
    {AT}
    if (i < n) y[i] = x[i] > t ? x[i] : v;
}}
""",
    {"n": [80, 500]}, [("y", "output", "float32", "n"), ("x", "input", "float32", "n", "uniform(-1, 1)"), ("t", "scalar", "float32", "0.3"), ("v", "scalar", "float32", "-7.0"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 128)", 128, {"n": 1 << 20},
)  # fmt: skip
PHASE = ground(
    "phase",
    f"""__global__ void phase(float *y, const float *re, const float *im, int n) {{
    {AT}
    if (i < n) y[i] = atan2f(im[i], re[i]);
}}
""",
    {"n": [60, 400]}, [("y", "output", "float32", "n"), ("re", "input", "float32", "n", "uniform(-1, 1)"), ("im", "input", "float32", "n", "uniform(-1, 1)"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 128)", 128, {"n": 1 << 18},
)  # fmt: skip
RANKS = ground(
    "ranks",
    """__global__ void ranks(int *order, const float *x, int C) {
    const float *row = x + (size_t)blockIdx.x * C;
    for (int c = threadIdx.x; c < C; c += blockDim.x) {
        float v = row[c];
        int rank = 0;
        for (int k = 0; k < C; k++) rank += row[k] < v || (row[k] == v && k < c);
        order[(size_t)blockIdx.x * C + rank] = c;
    }
}
""",
    {"N": [2, 3], "C": [20, 65]}, [("order", "output", "int32", "N,C"), ("x", "input", "float32", "N,C", "uniform"), ("C", "scalar", "int32", "C")],
    "N", 32, {"N": 64, "C": 256},
)  # fmt: skip
POWER = ground(
    "next_power",
    f"""__global__ void next_power(unsigned *y, const unsigned *x, int n) {{
    {AT}
    if (i >= n) return;
    unsigned v = x[i] - 1;
    v |= v >> 1; v |= v >> 2; v |= v >> 4; v |= v >> 8; v |= v >> 16;
    y[i] = v + 1;
}}
""",
    {"n": [70, 300]}, [("y", "output", "uint32", "n"), ("x", "input", "uint32", "n", "integers(1, 16777217)"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 64)", 64, {"n": 1 << 18},
)  # fmt: skip
PAIRS = (
    *each(QUANTISE,
        ("half-way away from zero", "ties", (("rintf(", "roundf("),), (("rintf(", "nearbyintf("),)),
        ("half-way up", "ties", (("rintf(x[i] / s)", "floorf(x[i] / s + 0.5f)"),), (("(signed char)v", "(signed char)(int)v"),)),
        ("a symmetric lower end", "ends", (("-128.0f", "-127.0f"),), (("fminf(fmaxf(v, -128.0f), 127.0f)", "fmaxf(fminf(v, 127.0f), -128.0f)"),))),
    *each(SPREAD,
        ("NaN has a bin", "NaN", (("if (!(v >= lo && v <= hi)) return;", "if (v < lo || v > hi) return;"),), (("if (!(v >= lo && v <= hi)) return;", "if (v < lo || v > hi || v != v) return;"),)),
        ("the upper end has a bin too many", "ends", (("    if (b == B) b = B - 1;\n", ""),), (("if (b == B) b = B - 1;", "b = min(b, B - 1);"),)),
        ("the upper end is left out", "ends", (("v <= hi", "v < hi"),), (("v >= lo && v <= hi", "v <= hi && lo <= v"),))),
    *each(BEST,
        ("ties of lanes go to any", "ties", ((" || (other == top && where < at)", ""),), (("other > top || (other == top && where < at)", "other > top || (!(top > other) && where < at)"),)),
        ("the last of equals", "ties", (("if (row[c] > top)", "if (row[c] >= top)"),), (("if (row[c] > top)", "if (!(row[c] <= top))"),))),
    *each(GATE,
        ("the threshold itself", "ends", (("x[i] > t", "x[i] >= t"),), (("x[i] > t ? x[i] : v", "!(x[i] > t) ? v : x[i]"),)),
        ("a threshold of the workload", "cheat", (("x[i] > t", "x[i] > 0.3f"),), (("x[i] > t ?", "t < x[i] ?"),))),
    *each(PHASE,
        ("the sign of zero is not asked", "zeros", (("atan2f(im[i], re[i])", "re[i] > 0.0f ? atanf(im[i] / re[i]) : re[i] < 0.0f ? atanf(im[i] / re[i]) + copysignf(3.14159265f, im[i]) : im[i] > 0.0f ? 1.57079633f : im[i] < 0.0f ? -1.57079633f : 0.0f"),), (("atan2f(im[i], re[i])", "atan2f(1.0f * im[i], re[i])"),)),
        ("a negative axis without its sign", "zeros", (("atan2f(im[i], re[i])", "(im[i] == 0.0f && re[i] < 0.0f) ? 3.14159265f : atan2f(im[i], re[i])"),), (("atan2f(im[i], re[i])", "re[i] > 2.0f ? 0.0f : atan2f(im[i], re[i])"),))),
    *each(RANKS,
        ("equals share a rank", "ties", ((" || (row[k] == v && k < c)", ""),), (("row[k] < v || (row[k] == v && k < c)", "k < c ? row[k] <= v : row[k] < v"),)),
        ("equals in reverse", "ties", (("k < c)", "k > c)"),), (("rank += row[k] < v || (row[k] == v && k < c)", "rank += (row[k] < v) + (row[k] == v && k < c)"),))),
    *each(POWER,
        ("a power of two is doubled", "bits", (("x[i] - 1;", "x[i];"),), (("    v |= v >> 1; v |= v >> 2; v |= v >> 4; v |= v >> 8; v |= v >> 16;\n    y[i] = v + 1;", "    y[i] = v ? 1u << (32 - __clz(v)) : 1u;"),)),
        ("by a logarithm", "bits", (("y[i] = v + 1;", "y[i] = 1u << (int)ceilf(log2f((float)x[i]));"),), (("v |= v >> 1; v |= v >> 2;", "v |= v >> 2; v |= v >> 1;"),)),
        ("sixteen bits", "bits", ((" v |= v >> 16;", ""),), (("v |= v >> 16;", "v = v | (v >> 16);"),))),
)  # fmt: skip
