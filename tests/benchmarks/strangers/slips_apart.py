# ruff: noqa: E501
"""Slips of shifts, roundings, ties, NaN, strides and dtypes, and careful rewrites of the same; set aside while the gate was changed."""

from __future__ import annotations

from .kinds.blocks import launched
from .model import workload_of
from .rewrites import AT, INT, F, H, flat, inp, number, out, paired, rows

ARGMAX = """__global__ void where_most(int *y, const float *x, int C) {
    if (threadIdx.x) return;
    int at = 0; float m = x[(size_t)blockIdx.x * C];
    for (int c = 1; c < C; c++) { float v = x[(size_t)blockIdx.x * C + c]; if (v > m) { m = v; at = c; } }
    y[blockIdx.x] = at;
}
"""
TREE = """__global__ void where_most(int *y, const float *x, int C) {
    int t = threadIdx.x, at = 0; float m = x[(size_t)blockIdx.x * C];
    bool stop = m != m;
    for (int c = t; c < C; c += 32) { float v = x[(size_t)blockIdx.x * C + c]; if (v > m && !stop) { m = v; at = c; } }
    for (int k = 16; k; k /= 2) {
        float mo = __shfl_down_sync(~0u, m, k); int ao = __shfl_down_sync(~0u, at, k);
        if (BETTER) { m = mo; at = ao; }
    }
    if (t == 0) y[blockIdx.x] = at;
}
"""
SUM = """__global__ void power(float *y, const float *x, int C) {
    __shared__ float s[32];
    int t = threadIdx.x; float v = 0.0f;
    for (int c = t; c < C; c += 64) v += x[(size_t)blockIdx.x * C + c] * x[(size_t)blockIdx.x * C + c];
    for (int k = 16; k; k /= 2) v += __shfl_xor_sync(~0u, v, k);
    FIRST
    if (t % 32 == 0) s[t / 32] = v;
    __syncthreads();
    if (t < 32) {
        v = LOAD;
        for (int k = 16; k; k /= 2) v += __shfl_xor_sync(~0u, v, k);
        if (t == 0) y[blockIdx.x] = v;
    }
}
"""
NIBBLES = f"""__global__ void nibbles(float *y, const unsigned *x, const float *s, int n) {{
    {AT}
    if (i >= n) return;
    int q = (int)(x[i / 8] << (28 - i % 8 * 4)) >> 28;
    y[i] = q * s[0];
}}
"""
PAIRS = (
    paired(
        "nibbles", NIBBLES,
        flat("nibbles", [out("y"), inp("x", "uint32", "(n + 7) // 8", "integers(0, 4294967295)"), inp("s", F, "1"), number("n")]),
        {"a sign that is shifted out": [("(int)(x[i / 8] << (28 - i % 8 * 4)) >> 28", "(int)((x[i / 8] << (28 - i % 8 * 4)) >> 28)")]},
        {"a sign by exclusive or": [("(int)(x[i / 8] << (28 - i % 8 * 4)) >> 28", "(int)((x[i / 8] >> i % 8 * 4 & 15u) ^ 8u) - 8")]},
        untuned=True),
    paired(
        "nearest",
        f"""__global__ void nearest(int *y, const float *x, int n) {{
    {AT}
    if (i < n) y[i] = (int)roundf(x[i] * 4.0f);
}}
""",
        flat("nearest", [out("y", INT), inp("x"), number("n")]),
        {"halves to even": [("(int)roundf(x[i] * 4.0f)", "__float2int_rn(x[i] * 4.0f)")]},
        {"halves away from zero": [("(int)roundf(x[i] * 4.0f)", "__float2int_rz(x[i] * 4.0f + copysignf(0.49999997f, x[i]))")]},
        untuned=True),
    paired(
        "where_most", ARGMAX, rows("where_most", [out("y", INT, "N"), inp("x", F, "N,C"), number("C")], block=32),
        {"any of equal ones": TREE.replace("BETTER", "mo > m")},
        {"the first of equal ones": TREE.replace("BETTER", "mo > m || (mo == m && ao < at)")},
        untuned=True),
    paired(
        "bounded",
        f"""__global__ void bounded(float *y, const float *x, float lo, float hi, int n) {{
    {AT}
    if (i < n) {{ float v = x[i]; y[i] = v < lo ? lo : v > hi ? hi : v; }}
}}
""",
        flat("bounded", [out("y"), inp("x"), number("lo", "-0.5", F), number("hi", "0.75", F), number("n")]),
        {"no number is a bound": [("v < lo ? lo : v > hi ? hi : v", "!(v >= lo) ? lo : v > hi ? hi : v")]},
        {"no number stays": [("v < lo ? lo : v > hi ? hi : v", "v != v ? v : fminf(fmaxf(v, lo), hi)")]}
    ),
    paired(
        "power", SUM.replace("FIRST", "if (t < 32) s[t] = 0.0f;\n    __syncthreads();").replace("LOAD", "s[t]"),
        rows("power", [out("y", F, "N"), inp("x", F, "N,C"), number("C")]),
        {"partial sums of warps that are not": SUM.replace("FIRST", "").replace("LOAD", "t < 4 ? s[t] : 0.0f")},
        {"partial sums of the warps": SUM.replace("FIRST", "").replace("LOAD", "t < blockDim.x / 32 ? s[t] : 0.0f")},
        untuned=True),
    paired(
        "strided",
        """__global__ void strided(int *y, const unsigned char *x, int n) {
    int s = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += x[i];
    atomicAdd(y, s);
}
""",
        workload_of("strided", {"n": [300, 900]}, [("y", "inout", INT, "1", "integers(0, 9)"), inp("x", "uint8", "n", "integers"), number("n")], "4", 96, {"n": 1 << 16}),
        {"a stride of whole warps of two": [("gridDim.x * blockDim.x", "gridDim.x * 128")]},
        {"two for each turn": [("for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += x[i];", "int step = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;\n    for (; i + step < n; i += 2 * step) s += x[i] + x[i + step];\n    if (i < n) s += x[i];")]},
        untuned=True),
    paired(
        "tleast",
        """def tleast(y, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    m = tl.full((BLOCK,), 2147483647, tl.int32)
    for at in range(0, C, BLOCK):
        c = at + tl.arange(0, BLOCK)
        m = tl.minimum(m, tl.load(x + row * C + c, mask=c < C, other=2147483647))
    tl.store(y + row, tl.min(m, axis=0))
""",
        launched("tleast", {"N": [2, 5], "C": [40, 200]}, [out("y", INT, "N"), inp("x", INT, "N,C", "integers(-2000000000, 2000000000)"), number("C")], "N", "64", {"N": 64, "C": 1024}),
        {"a billion beyond the row": [("mask=c < C, other=2147483647", "mask=c < C, other=1000000000")]},
        {"the row's last beyond it": [("tl.load(x + row * C + c, mask=c < C, other=2147483647)", 'tl.load(x + row * C + tl.minimum(c, C - 1), eviction_policy="evict_last")')]},
        "triton", untuned=True),
    paired(
        "tgain",
        """def tgain(y, x, g, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y + i, v * v * tl.load(g), mask=i < n)
""",
        launched("tgain", {"n": [100, 300]}, [out("y"), inp("x", H), inp("g", F, "1"), number("n")], "ceil_div(n, 128)", "128", {"n": 1 << 16}),
        {"a square before it is wide": [("other=0.0).to(tl.float32)", "other=0.0)"), ("v * v * tl.load(g)", "(v * v) * tl.load(g)")]},
        {"wide by what it meets": [("other=0.0).to(tl.float32)", "other=0.0)"), ("v * v * tl.load(g)", "v * (v * tl.load(g))")]},
        "triton", untuned=True),
    paired(
        "tstep",
        """def tstep(y, x, s, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    tl.store(y + i, v.to(tl.int32) * s, mask=i < n)
""",
        launched("tstep", {"n": [100, 300]}, [out("y", INT), inp("x", "int8", "n", "integers(-128, 127)"), number("s", "3"), number("n")], "ceil_div(n, 128)", "128", {"n": 1 << 16}),
        {"three times in a byte": [("v.to(tl.int32) * s", "(v * 3).to(tl.int32) * (s // 3)")]},
        {"three times a wide one": [("v.to(tl.int32) * s", "(v * s).to(tl.int32)"), ("mask=i < n, other=0)", 'mask=i < n, other=0, cache_modifier=".ca")')]},
        "triton", untuned=True),
    paired(
        "joined",
        """__global__ void joined(float *y, const float *a, const float *b, int C) {
    const float *p = a + (size_t)blockIdx.x * C, *q = b + (size_t)blockIdx.x * C;
    for (int c = threadIdx.x; c < C; c += 64) y[(size_t)blockIdx.x * C + c] = p[c] - q[c];
}
""",
        rows("joined", [out("y", F, "N,C"), inp("a", F, "N,C"), inp("b", F, "N,C"), number("C")], C=(64, 256)),
        {"fours of rows of any length": [("for (int c = threadIdx.x; c < C; c += 64) y[(size_t)blockIdx.x * C + c] = p[c] - q[c];", "int whole = C / 4 * 4;\n    for (int c = threadIdx.x * 4; c < whole; c += 256) for (int k = 0; k < 4; k++) y[(size_t)blockIdx.x * C + c + k] = p[c + k] - q[c + k];\n    if (threadIdx.x < C - whole - (C % 4 == 3)) y[(size_t)blockIdx.x * C + whole + threadIdx.x] = p[whole + threadIdx.x] - q[whole + threadIdx.x];")]},
        {"fours and the rest": [("for (int c = threadIdx.x; c < C; c += 64) y[(size_t)blockIdx.x * C + c] = p[c] - q[c];", "int whole = C / 4 * 4;\n    for (int c = threadIdx.x * 4; c < whole; c += 256) for (int k = 0; k < 4; k++) y[(size_t)blockIdx.x * C + c + k] = p[c + k] - q[c + k];\n    if (threadIdx.x < C - whole) y[(size_t)blockIdx.x * C + whole + threadIdx.x] = p[whole + threadIdx.x] - q[whole + threadIdx.x];")]},
        untuned=True),
)  # fmt: skip
