# ruff: noqa: E501
"""Angles, packed numbers, steps of optimisers, segments, rounding in between. Looked at."""

from . import AT, each, ground

POSITIONS = ground(
    "positions",
    f"""__global__ void positions(float *y, const int *p, int N, int H) {{
    {AT}
    if (i >= N * H) return;
    int r = i / H, k = i % H;
    float a = p[r] * exp2f(-13.28771238f * k / H);
    y[2 * i] = sinf(a);
    y[2 * i + 1] = cosf(a);
}}
""",
    {"N": [3, 9], "H": [8, 20]}, [("y", "output", "float32", "N,2 * H"), ("p", "input", "int32", "N", "integers(0, 100000)"), ("N", "scalar", "int32", "N"), ("H", "scalar", "int32", "H")],
    "ceil_div(N * H, 64)", 64, {"N": 1024, "H": 64},
)  # fmt: skip
WAVE = ground(
    "swing",
    f"""__global__ void swing(float *y, const float *x, float a, int n) {{
    {AT}
    if (i >= n) return;
    float s = sinf(a * x[i]);
    y[i] = s * s / a;
}}
""",
    {"n": [90, 600]}, [("y", "output", "float32", "n"), ("x", "input", "float32", "n", "uniform(-200, 200)"), ("a", "scalar", "float32", "3.0"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 128)", 128, {"n": 1 << 20},
)  # fmt: skip
COUNTED = ground(
    "counted",
    """__global__ void counted(int *y, const signed char *x, int C) {
    __shared__ int part[2][64];
    const signed char *row = x + (size_t)blockIdx.x * C;
    int t = threadIdx.x, above = 0, zero = 0;
    for (int c = t; c < C; c += 64) { above += row[c] > 0; zero += row[c] == 0; }
    part[0][t] = above;
    part[1][t] = zero;
    __syncthreads();
    if (t < 2) {
        int sum = 0;
        for (int k = 0; k < 64; k++) sum += part[t][k];
        y[2 * blockIdx.x + t] = sum;
    }
}
""",
    {"N": [2, 4], "C": [50, 200]}, [("y", "output", "int32", "N,2"), ("x", "input", "int8", "N,C", "integers"), ("C", "scalar", "int32", "C")],
    "N", 64, {"N": 128, "C": 3000},
)  # fmt: skip
PACKED = """    unsigned short both = 0;
    for (int c = t; c < C; c += 64) both += (row[c] > 0) | (row[c] == 0) << 8;
    for (int k = 16; k > 0; k /= 2) both += __shfl_xor_sync(~0u, (int)both, k);
    above = t % 32 ? 0 : both & 255;
    zero = t % 32 ? 0 : both >> 8;
"""
WIDELY = (
    PACKED.replace("unsigned short both", "unsigned both")
    .replace("<< 8", "<< 16")
    .replace("& 255", "& 65535")
    .replace(">> 8", ">> 16")
)
LOOP = "    for (int c = t; c < C; c += 64) { above += row[c] > 0; zero += row[c] == 0; }\n"
MOMENTUM = ground(
    "momentum",
    f"""__global__ void momentum(float *w, float *m, const float *g, float rate, float decay, float most, int n) {{
    {AT}
    if (i >= n) return;
    float d = g[i] > most ? most : g[i] < -most ? -most : g[i];
    d += decay * w[i];
    m[i] = 0.9f * m[i] + d;
    w[i] -= rate * (d + 0.9f * m[i]);
}}
""",
    {"n": [70, 500]}, [("w", "inout", "float32", "n"), ("m", "inout", "float32", "n"), ("g", "input", "float32", "n"), ("rate", "scalar", "float32", "0.01"), ("decay", "scalar", "float32", "0.1"), ("most", "scalar", "float32", "1.0"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 128)", 128, {"n": 1 << 18},
)  # fmt: skip
BAG = ground(
    "bag",
    """__global__ void bag(float *y, const float *w, const int *start, const int *at, int D) {
    int b = blockIdx.x;
    for (int d = threadIdx.x; d < D; d += blockDim.x) {
        float sum = 0.0f;
        for (int k = start[b]; k < start[b + 1]; k++) sum += w[(size_t)at[k] * D + d];
        int count = start[b + 1] - start[b];
        y[(size_t)b * D + d] = count ? sum / count : 0.0f;
    }
}
""",
    {"B": [4, 11], "T": [30, 50], "D": [12, 40]}, [("y", "output", "float32", "B,D"), ("w", "input", "float32", "80,D"), ("start", "input", "int32", "B + 1", "offsets(T)"), ("at", "input", "int32", "T", "integers(0, 80)"), ("D", "scalar", "int32", "D")],
    "B", 32, {"B": 64, "T": 1000, "D": 128},
)  # fmt: skip
GEGLU = ground(
    "geglu",
    f"""#include <cuda_fp16.h>
__global__ void geglu(__half *y, const __half *a, const __half *b, int n) {{
    {AT}
    if (i >= n) return;
    float u = __half2float(a[i]), v = __half2float(b[i]);
    float g = 0.5f * u * (1.0f + erff(u * 0.70710678f));
    y[i] = __float2half(g * v);
}}
""",
    {"n": [90, 700]}, [("y", "output", "float16", "n"), ("a", "input", "float16", "n"), ("b", "input", "float16", "n"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 128)", 128, {"n": 1 << 20},
)  # fmt: skip
BLEND = ground(
    "blend",
    f"""__global__ void blend(float *y, const float *a, const float *b, const float *m, int n) {{
    {AT}
    if (i < n) y[i] = m[i] * a[i] + (1.0f - m[i]) * b[i];
}}
""",
    {"n": [64, 512]}, [("y", "output", "float32", "n"), ("a", "input", "float32", "n"), ("b", "input", "float32", "n"), ("m", "input", "float32", "n", "uniform"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 128)", 128, {"n": 1 << 20},
)  # fmt: skip
FOUR = """if ({asked} && n % 4 == 0) {{
        if (4 * i < n) {{
            float4 p = ((const float4 *)a)[i], q = ((const float4 *)b)[i], w = ((const float4 *)m)[i];
            ((float4 *)y)[i] = make_float4(w.x * p.x + (1.0f - w.x) * q.x, w.y * p.y + (1.0f - w.y) * q.y, w.z * p.z + (1.0f - w.z) * q.z, w.w * p.w + (1.0f - w.w) * q.w);
        }}
    }} else if (i < n)"""
ASKS = "(((size_t)a | (size_t)b | (size_t)y{}) & 15) == 0"
PAIRS = (
    *each(POSITIONS,
        ("a fast sine of positions", "precision", (("sinf(a)", "__sinf(a)"), ("cosf(a)", "__cosf(a)")), (("    y[2 * i] = sinf(a);\n    y[2 * i + 1] = cosf(a);", "    sincosf(a, &y[2 * i], &y[2 * i + 1]);"),)),
        ("frequencies in halves", "precision", (("float a = p[r] * exp2f(-13.28771238f * k / H);", "float a = p[r] * __half2float(__float2half(exp2f(-13.28771238f * k / H)));"), ("__global__", "#include <cuda_fp16.h>\n__global__")), (("p[r] * exp2f(-13.28771238f * k / H)", "exp2f(-13.28771238f * k / H) * p[r]"),)),
        ("positions below a table's end", "cheat", (("float a = p[r] *", "float a = min(p[r], 99998) *"),), (("float a = p[r] *", "float a = (float)p[r] *"),))),
    *each(WAVE,
        ("a fast sine of large angles", "precision", (("sinf(a * x[i])", "__sinf(a * x[i])"),), (("sinf(a * x[i])", "sinf(x[i] * a)"),)),
        ("a product of sines that cancels", "precision", (("s * s / a", "(0.5f - 0.5f * __cosf(2.0f * a * x[i])) / a"),), (("s * s / a", "s * (s / a)"),))),
    *each(COUNTED,
        ("pairs in a short", "packed", ((LOOP, PACKED),), ((LOOP, WIDELY),)),
        ("counts in bytes", "packed", (("above = 0, zero = 0;", "zero = 0; unsigned char above = 0;"), ("int part[2][64]", "unsigned char part[2][64]"), ("int sum = 0", "unsigned char sum = 0")), (("row[c] > 0;", "row[c] >= 1;"),))),
    *each(MOMENTUM,
        ("clipping drops NaN", "NaN", (("g[i] > most ? most : g[i] < -most ? -most : g[i]", "fminf(fmaxf(g[i], -most), most)"),), (("g[i] > most ? most : g[i] < -most ? -most : g[i]", "g[i] < -most ? -most : g[i] > most ? most : g[i]"),)),
        ("decay after the step", "values", (("    d += decay * w[i];\n", ""), ("w[i] -= rate * (d + 0.9f * m[i]);", "w[i] -= rate * (d + 0.9f * m[i] + decay * w[i]);")), (("d += decay * w[i]", "d = decay * w[i] + d"),)),
        ("the old momentum is looked ahead", "values", (("m[i] = 0.9f * m[i] + d;\n    w[i] -= rate * (d + 0.9f * m[i]);", "float old = m[i];\n    m[i] = 0.9f * old + d;\n    w[i] -= rate * (d + 0.9f * old);"),), (("m[i] = 0.9f * m[i] + d;\n    w[i] -= rate * (d + 0.9f * m[i]);", "float now = 0.9f * m[i] + d;\n    m[i] = now;\n    w[i] -= rate * (d + 0.9f * now);"),))),
    *each(BAG,
        ("an empty bag divides by zero", "ends", (("count ? sum / count : 0.0f", "sum / count"),), (("count ? sum / count : 0.0f", "sum / max(count, 1)"),)),
        ("bags have no more than 32", "tail", (("k < start[b + 1]", "k < min(start[b + 1], start[b] + 32)"),), (("int k = start[b];", "int k = start[b], last = start[b + 1];"), ("k < start[b + 1]", "k < last")))),
    *each(GEGLU,
        ("the gate is kept in half", "precision", (("__float2half(g * v)", "__float2half(__half2float(__float2half(g)) * v)"),), (("__float2half(g * v)", "__float2half_rn(v * g)"),)),
        ("the fast form of the gate", "precision", (("0.5f * u * (1.0f + erff(u * 0.70710678f))", "u / (1.0f + expf(-1.702f * u))"),), (("0.5f * u * (1.0f + erff(u * 0.70710678f))", "u * normcdff(u)"),))),
    *each(BLEND,
        ("one address is not asked", "alignment", (("if (i < n)", FOUR.format(asked=ASKS.format(""))),), (("if (i < n)", FOUR.format(asked=ASKS.format(" | (size_t)m"))),)),
        ("the difference is scaled", "NaN", (("m[i] * a[i] + (1.0f - m[i]) * b[i]", "m[i] == 0.0f ? b[i] : m[i] * a[i] + (1.0f - m[i]) * b[i]"),), (("m[i] * a[i] + (1.0f - m[i]) * b[i]", "(1.0f - m[i]) * b[i] + m[i] * a[i]"),))),
)  # fmt: skip
