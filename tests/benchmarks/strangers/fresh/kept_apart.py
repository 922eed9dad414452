# ruff: noqa: E501
"""Comparisons of two inputs, quotients with a threshold, coordinates, bits. Never looked at while the gate changed."""

from functools import partial

from .. import fresh
from . import AT, ground

each = partial(fresh.each, untuned=True)
DIGITS = ground(
    "digitise",
    f"""__global__ void digitise(int *y, const float *x, const float *edges, int n, int E) {{
    {AT}
    if (i >= n) return;
    float v = x[i];
    int low = 0, high = E;
    while (low < high) {{
        int middle = (low + high) / 2;
        if (edges[middle] <= v) low = middle + 1; else high = middle;
    }}
    y[i] = low;
}}
""",
    {"n": [80, 300]}, [("y", "output", "int32", "n"), ("x", "input", "float32", "n", "uniform(0, 9)"), ("edges", "input", "float32", "8", "listed(0.5, 1, 2, 3, 4.5, 6, 7, 9)"), ("n", "scalar", "int32", "n"), ("E", "scalar", "int32", "8")],
    "ceil_div(n, 64)", 64, {"n": 1 << 18},
)  # fmt: skip
OVERLAP = ground(
    "overlap",
    f"""__global__ void overlap(int *y, const float *a, const float *b, float t, int n) {{
    {AT}
    if (i >= n) return;
    float w = fminf(a[4 * i + 2], b[4 * i + 2]) - fmaxf(a[4 * i], b[4 * i]);
    float h = fminf(a[4 * i + 3], b[4 * i + 3]) - fmaxf(a[4 * i + 1], b[4 * i + 1]);
    float both = fmaxf(w, 0.0f) * fmaxf(h, 0.0f);
    float one = (a[4 * i + 2] - a[4 * i]) * (a[4 * i + 3] - a[4 * i + 1]);
    float two = (b[4 * i + 2] - b[4 * i]) * (b[4 * i + 3] - b[4 * i + 1]);
    y[i] = both / (one + two - both) > t;
}}
""",
    {"n": [60, 250]}, [("y", "output", "int32", "n"), ("a", "input", "float32", "n,4", "uniform(0, 10)"), ("b", "input", "float32", "n,4", "uniform(0, 10)"), ("t", "scalar", "float32", "0.5"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 64)", 64, {"n": 1 << 16},
)  # fmt: skip
SAMPLE = ground(
    "sample",
    """__global__ void sample(float *y, const float *image, const float *at, int W, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float p = (at[i] + 1.0f) * 0.5f * (W - 1);
    int left = (int)floorf(p), right = min(left + 1, W - 1);
    float f = p - left;
    y[i] = image[left] * (1.0f - f) + image[right] * f;
}
""",
    {"n": [50, 260], "W": [9, 33]}, [("y", "output", "float32", "n"), ("image", "input", "float32", "W"), ("at", "input", "float32", "n", "uniform(-1, 1)"), ("W", "scalar", "int32", "W"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 64)", 64, {"n": 1 << 16, "W": 512},
)  # fmt: skip
BUCKET = ground(
    "bucket",
    f"""__global__ void bucket(int *y, const int *d, int n) {{
    {AT}
    if (i >= n) return;
    int v = d[i], level = 0;
    while (v >= 16) {{ v >>= 1; level++; }}
    y[i] = level ? 8 + 8 * level + (v - 8) : v;
}}
""",
    {"n": [64, 200]}, [("y", "output", "int32", "n"), ("d", "input", "int32", "n", "integers(0, 100000)"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 64)", 64, {"n": 1 << 18},
)  # fmt: skip
PRUNE = ground(
    "prune",
    f"""__global__ void prune(float *y, const float *x, int n) {{
    {AT}
    if (i >= n) return;
    float v = fabsf(x[i]);
    int first = i & ~3, above = 0;
    for (int k = first; k < first + 4; k++) {{
        float o = fabsf(x[k]);
        above += o > v || (o == v && k < i);
    }}
    y[i] = above < 2 ? x[i] : 0.0f;
}}
""",
    {"n": [64, 400]}, [("y", "output", "float32", "n"), ("x", "input", "float32", "n", "uniform(-1, 1)"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 64)", 64, {"n": 1 << 18},
)  # fmt: skip
HALVED = ground(
    "halved",
    f"""__global__ void halved(unsigned short *y, const float *x, int n) {{
    {AT}
    if (i >= n) return;
    unsigned b = __float_as_uint(x[i]);
    if ((b & 0x7fffffff) > 0x7f800000) {{ y[i] = (b >> 16) | 0x40; return; }}
    y[i] = (b + 0x7fff + ((b >> 16) & 1)) >> 16;
}}
""",
    {"n": [70, 300]}, [("y", "output", "uint16", "n"), ("x", "input", "float32", "n"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 64)", 64, {"n": 1 << 18},
)  # fmt: skip
LION = ground(
    "lion",
    f"""__global__ void lion(float *w, float *m, const float *g, float rate, float b1, float b2, int n) {{
    {AT}
    if (i >= n) return;
    float u = b1 * m[i] + (1.0f - b1) * g[i];
    float s = u > 0.0f ? 1.0f : u < 0.0f ? -1.0f : u;
    w[i] -= rate * s;
    m[i] = b2 * m[i] + (1.0f - b2) * g[i];
}}
""",
    {"n": [64, 333]}, [("w", "inout", "float32", "n"), ("m", "inout", "float32", "n"), ("g", "input", "float32", "n"), ("rate", "scalar", "float32", "0.01"), ("b1", "scalar", "float32", "0.9"), ("b2", "scalar", "float32", "0.99"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 64)", 64, {"n": 1 << 18},
)  # fmt: skip
PAIRS = (
    *each(DIGITS,
        ("a value at an edge stays below", "ties", (("edges[middle] <= v", "edges[middle] < v"),), (("edges[middle] <= v", "!(edges[middle] > v)"),)),
        ("the last edge is never reached", "ends", (("high = E;", "high = E - 1;"),), (("(low + high) / 2", "(low + high) >> 1"),)),
        ("edges in halves", "precision", (("edges[middle] <= v", "edges[middle] <= __half2float(__float2half(v))"), ("__global__", "#include <cuda_fp16.h>\n__global__")), (("float v = x[i];", "const float v = x[i] + 0.0f;"),))),
    *each(OVERLAP,
        ("at the threshold as well", "ties", ((") > t;", ") >= t;"),), (("y[i] = both / (one + two - both) > t", "y[i] = t < both / (one + two - both)"),)),
        ("boxes that do not meet", "values", (("fmaxf(w, 0.0f) * fmaxf(h, 0.0f)", "fmaxf(w * h, 0.0f)"),), (("fmaxf(w, 0.0f) * fmaxf(h, 0.0f)", "fmaxf(h, 0.0f) * fmaxf(w, 0.0f)"),)),
        ("nothing over nothing", "zeros", (("both / (one + two - both) > t", "both > t * (one + two - both) || one + two == 0.0f"),), (("y[i] = both", "float t2 = t;\n    y[i] = both"), ("> t;", "> t2;")))),
    *each(SAMPLE,
        ("the right neighbour of the last", "ends", (("right = min(left + 1, W - 1)", "right = left + 1"),), (("min(left + 1, W - 1)", "left + 1 < W ? left + 1 : left"),)),
        ("towards zero", "values", (("(at[i] + 1.0f) * 0.5f * (W - 1)", "fminf((at[i] + 1.0f) * 0.5f * (W - 1), W - 1.001f)"),), (("(int)floorf(p)", "(int)p"),)),
        ("coordinates in halves", "precision", (("    float p = (at[i]", "    float p = (__half2float(__float2half(at[i]))"), ("__global__", "#include <cuda_fp16.h>\n__global__")), (("image[left] * (1.0f - f) + image[right] * f", "image[right] * f + image[left] * (1.0f - f)"),))),
    *each(BUCKET,
        ("levels by a logarithm that is rounded", "bits", (("    while (v >= 16) { v >>= 1; level++; }\n", "    if (v >= 16) { level = max(0, (int)rintf(log2f((float)v)) - 3); v >>= level; }\n"),), (("    while (v >= 16) { v >>= 1; level++; }\n", "    if (v >= 16) { level = 28 - __clz(v); v >>= level; }\n"),)),
        ("large distances share a bucket", "ends", (("int v = d[i],", "int v = min(d[i], 65535),"),), (("v >>= 1", "v /= 2"),))),
    *each(PRUNE,
        ("equals all stay", "ties", ((" || (o == v && k < i)", ""),), (("o > v || (o == v && k < i)", "k < i ? o >= v : o > v"),)),
        ("equals prefer the last", "ties", (("k < i)", "k > i)"),), (("above < 2 ? x[i] : 0.0f", "above >= 2 ? 0.0f : x[i]"),)),
        ("zero for small ones", "cheat", (("above < 2 ?", "above < 2 && v > 1e-3f ?"),), (("i & ~3", "i / 4 * 4"),))),
    *each(HALVED,
        ("NaN is rounded away", "NaN", (("    if ((b & 0x7fffffff) > 0x7f800000) { y[i] = (b >> 16) | 0x40; return; }\n", ""),), (("(b & 0x7fffffff) > 0x7f800000", "x[i] != x[i]"),)),
        ("half-way always up", "ties", (("0x7fff + ((b >> 16) & 1)", "0x8000"),), (("(b >> 16) & 1", "(b & 0x10000) != 0"),)),
        ("cut off", "precision", (("(b + 0x7fff + ((b >> 16) & 1)) >> 16", "b >> 16"),), (("b + 0x7fff + ((b >> 16) & 1)", "b + ((b >> 16) & 1) + 0x7fff"),))),
    *each(LION,
        ("zero moves", "zeros", (("u > 0.0f ? 1.0f : u < 0.0f ? -1.0f : u", "copysignf(1.0f, u)"),), (("u > 0.0f ? 1.0f : u < 0.0f ? -1.0f : u", "u == 0.0f || u != u ? u : copysignf(1.0f, u)"),)),
        ("no step for NaN", "NaN", (("u > 0.0f ? 1.0f : u < 0.0f ? -1.0f : u", "(float)((u > 0.0f) - (u < 0.0f))"),), (("u > 0.0f ? 1.0f : u < 0.0f ? -1.0f : u", "u < 0.0f ? -1.0f : u > 0.0f ? 1.0f : u"),)),
        ("the new momentum steps", "values", (("    float u = b1 * m[i] + (1.0f - b1) * g[i];", "    float u = b2 * m[i] + (1.0f - b2) * g[i];"),), (("float u = b1 * m[i] + (1.0f - b1) * g[i]", "float u = (1.0f - b1) * g[i] + b1 * m[i]"),))),
)  # fmt: skip
