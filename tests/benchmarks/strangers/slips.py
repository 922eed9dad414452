# ruff: noqa: E501
"""Slips of tails, identities, widths, orders within a warp, scopes and aliases, and careful rewrites of the same."""

from __future__ import annotations

from .kinds.blocks import launched
from .model import workload_of
from .rewrites import AT, INT, F, H, flat, inp, number, out, paired, rows

SHIFT = """__global__ void windows(float *y, const float *x, int C) {
    const float *r = x + (size_t)blockIdx.x * C; float *o = y + (size_t)blockIdx.x * C;
    for (int c = threadIdx.x; c < C; c += 64) o[c] = r[c] * 1.5f - 2.0f;
}
"""
TILES = """__global__ void windows(float *y, const float *x, int C) {
    const float *r = x + (size_t)blockIdx.x * C; float *o = y + (size_t)blockIdx.x * C;
    int t = threadIdx.x, at = 0;
    for (; at + 128 <= C; at += 128) { float a = r[at + t], b = r[at + 64 + t]; o[at + t] = a * 1.5f - 2.0f; o[at + 64 + t] = b * 1.5f - 2.0f; }
    REST
}
"""
LEAST = """__global__ void least(float *y, const float *x, int C) {
    __shared__ float s[64];
    float m = START;
    for (int c = threadIdx.x; c < C; c += 64) m = fminf(m, x[(size_t)blockIdx.x * C + c]);
    s[threadIdx.x] = m;
    __syncthreads();
    for (int k = 32; k; k /= 2) { if (threadIdx.x < k) s[threadIdx.x] = fminf(s[threadIdx.x], s[threadIdx.x + k]); __syncthreads(); }
    if (threadIdx.x == 0) y[blockIdx.x] = s[0];
}
"""
SWAP = """__global__ void swapped(float *y, const float *x, int C) {
    __shared__ float s[64];
    int t = threadIdx.x;
    for (int at = 0; at < C; at += 64) {
        s[t] = at + t < C ? x[(size_t)blockIdx.x * C + at + t] : 0.0f;
        AFTER_WRITE
        float v = s[t ^ 3] + s[t ^ 7];
        AFTER_READ
        if (at + t < C) y[(size_t)blockIdx.x * C + at + t] = v;
    }
}
"""
WARPS = """__global__ void sums(float *y, const float *x, int C) {
    int t = threadIdx.x; float s = 0.0f;
    for (int c = t; c < C; c += 64) s += x[(size_t)blockIdx.x * C + c];
    __shared__ float w[2];
    for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);
    if (t % 32 == 0) w[t / 32] = s;
    __syncthreads();
    LAST
}
"""
DOT = """#include <cuda_fp16.h>
__global__ void dot(float *y, const __half *a, const __half *b, int C) {
    int t = threadIdx.x; size_t o = (size_t)blockIdx.x * C; float s = 0.0f;
    for (int c = t; c < C; c += 32) s += __half2float(a[o + c]) * __half2float(b[o + c]);
    for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);
    if (t == 0) y[blockIdx.x] = s;
}
"""
LOOP = "for (int c = t; c < C; c += 32) s += __half2float(a[o + c]) * __half2float(b[o + c]);"
COUNT = """__global__ void above(int *y, const float *x, float limit, int n) {
    int i = blockIdx.x * 128 + threadIdx.x, hit = i < n && x[i] > limit;
    if (hit) atomicAdd(y, 1);
}
"""
TICKET = """__global__ void total(int *y, int *ticket, int *part, const int *x, int n) {
    __shared__ int s, last;
    if (threadIdx.x == 0) s = 0;
    __syncthreads();
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) atomicAdd(&s, x[i]);
    __syncthreads();
    if (threadIdx.x == 0) { atomicExch(&part[blockIdx.x], s); __threadfence(); last = TAKE(ticket, 1) == gridDim.x - 1; }
    __syncthreads();
    if (last && threadIdx.x == 0) { int v = 0; for (int b = 0; b < gridDim.x; b++) v += atomicAdd(&part[b], 0); *y = v; }
}
"""
IN_PLACE = """__global__ void trail(float *y, int C) {
    if (threadIdx.x) return;
    float *r = y + (size_t)blockIdx.x * C, before = 0.0f;
    for (int c = 0; c < C; c++) { float v = r[c]; r[c] = v + 0.5f * before; before = v; }
}
"""
TRAIL = """__global__ void trail(float *y, int C) {
    __shared__ float s[65];
    float *r = y + (size_t)blockIdx.x * C; int t = threadIdx.x;
    if (t == 0) s[0] = 0.0f;
    for (int at = 0; at < C; at += 64) {
        LEFT
        if (at + t < C) s[t + 1] = r[at + t];
        __syncthreads();
        if (at + t < C) r[at + t] = s[t + 1] + 0.5f * s[t];
        __syncthreads();
        KEEP
    }
}
"""
PAIRS = (
    paired(
        "windows", SHIFT, rows("windows", [out("y", F, "N,C"), inp("x", F, "N,C"), number("C")], C=(64, 300)),
        {"a tail between two tiles": TILES.replace("REST", "if (at + 64 < C) { o[at + t] = r[at + t] * 1.5f - 2.0f; if (at + 64 + t < C) o[at + 64 + t] = r[at + 64 + t] * 1.5f - 2.0f; } else if (at + t + 1 <= C - (C % 64 == 63)) o[at + t] = r[at + t] * 1.5f - 2.0f;")},
        {"a tail of any length": TILES.replace("REST", "for (int c = at + t; c < C; c += 64) o[c] = r[c] * 1.5f - 2.0f;")}),
    paired(
        "least", LEAST.replace("START", "INFINITY"), rows("least", [out("y", F, "N"), inp("x", F, "N,C"), number("C")]),
        {"the largest float is the start": [("INFINITY", "3.4028235e38f")]},
        {"the first element is the start": [("INFINITY", "x[(size_t)blockIdx.x * C]")]}),
    paired(
        "hashed",
        f"""__global__ void hashed(float *y, const float *x, int n) {{
    {AT}
    if (i < n) y[i] = x[((long long)i * i + 7) % n];
}}
""",
        flat("hashed", [out("y"), inp("x"), number("n")], big=1 << 17),
        {"a square in 32 bits": [("((long long)i * i + 7) % n", "((unsigned)i * i + 7u) % (unsigned)n")]},
        {"a square in 64 bits": [("((long long)i * i + 7) % n", "(int)(((unsigned long long)i * i + 7ull) % (unsigned)n)")]}),
    paired(
        "swapped", SWAP.replace("AFTER_WRITE", "__syncthreads();").replace("AFTER_READ", "__syncthreads();"),
        rows("swapped", [out("y", F, "N,C"), inp("x", F, "N,C"), number("C")], C=(64, 200)),
        {"one wait for a warp": SWAP.replace("AFTER_WRITE", "__syncwarp();").replace("AFTER_READ", "")},
        {"two waits for a warp": SWAP.replace("AFTER_WRITE", "__syncwarp();").replace("AFTER_READ", "__syncwarp();")}),
    paired(
        "sums", WARPS.replace("LAST", "if (t == 0) y[blockIdx.x] = w[0] + w[1];"),
        rows("sums", [out("y", F, "N"), inp("x", F, "N,C"), number("C")]),
        {"a mask without the second lane": WARPS.replace("LAST", "if (t < 2) { float v = w[t]; v += __shfl_xor_sync(1u, v, 1); if (t == 0) y[blockIdx.x] = v; }")},
        {"a mask of the lanes that come": WARPS.replace("LAST", "if (t < 2) { float v = w[t]; v += __shfl_xor_sync(3u, v, 1); if (t == 0) y[blockIdx.x] = v; }")}),
    paired(
        "dot", DOT, rows("dot", [out("y", F, "N"), inp("a", H, "N,C"), inp("b", H, "N,C"), number("C")], block=32),
        {"a half for every four": [(LOOP, "int c = t; for (; c + 96 < C; c += 128) { __half h = __hmul(a[o + c], b[o + c]); for (int k = 32; k < 128; k += 32) h = __hfma(a[o + c + k], b[o + c + k], h); s += __half2float(h); } for (; c < C; c += 32) s += __half2float(a[o + c]) * __half2float(b[o + c]);")]},
        {"a float for every four": [(LOOP, "int c = t; for (; c + 96 < C; c += 128) { float h = 0.0f; for (int k = 0; k < 128; k += 32) h = fmaf(__half2float(a[o + c + k]), __half2float(b[o + c + k]), h); s += h; } for (; c < C; c += 32) s += __half2float(a[o + c]) * __half2float(b[o + c]);")]}),
    paired(
        "above", COUNT,
        workload_of("above", {"n": [100, 600]}, [("y", "inout", INT, "1", "integers(0, 9)"), inp("x"), number("limit", "0.25", F), number("n")], "ceil_div(n, 128)", 128, {"n": 1 << 16}),
        {"a count that only its block sees": [("if (hit) atomicAdd(y, 1);", "int c = __syncthreads_count(hit); if (threadIdx.x == 0 && c) atomicAdd_block(y, c);")]},
        {"a count for each block": [("if (hit) atomicAdd(y, 1);", "int c = __syncthreads_count(hit); if (threadIdx.x == 0 && c) atomicAdd(y, c);")]}),
    paired(
        "mirror",
        f"""__global__ void mirror(float *y, const float *x, int n) {{
    {AT}
    if (i < n) y[i] = 2.0f * x[i] + 1.0f;
}}
""",
        flat("mirror", [out("y"), inp("x"), number("n")]).replace('name = "y"\n', 'name = "y"\nmay_alias = ["x"]\n'),
        {"the middle twice": [("if (i < n) y[i] = 2.0f * x[i] + 1.0f;", "int j = n - 1 - i; if (i <= j) { y[i] = 2.0f * x[i] + 1.0f; y[j] = 2.0f * x[j] + 1.0f; }")]},
        {"both before either": [("if (i < n) y[i] = 2.0f * x[i] + 1.0f;", "int j = n - 1 - i; if (i <= j) { float a = x[i], b = x[j]; y[i] = 2.0f * a + 1.0f; y[j] = 2.0f * b + 1.0f; }")]}),
    paired(
        "trail", IN_PLACE,
        rows("trail", [("y", "inout", F, "N,C"), number("C")], C=(64, 200)),
        {"a neighbour of the tile before": TRAIL.replace("LEFT", "if (t == 0 && at) s[0] = r[at - 1];").replace("KEEP", "")},
        {"a neighbour that is kept": TRAIL.replace("LEFT", "").replace("KEEP", "if (t == 0 && at + 64 < C) s[0] = s[64];\n        __syncthreads();")}),
    paired(
        "trow",
        """def trow(y, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    m = tl.full((BLOCK,), -float("inf"), tl.float32)
    for at in range(0, C, BLOCK):
        c = at + tl.arange(0, BLOCK)
        m = tl.maximum(m, tl.load(x + row * C + c, mask=c < C, other=-float("inf")))
    tl.store(y + row, tl.max(m, axis=0))
""",
        launched("trow", {"N": [2, 5], "C": [40, 200]}, [out("y", F, "N"), inp("x", F, "N,C"), number("C")], "N", "64", {"N": 64, "C": 1024}),
        {"zeros beyond the row for a maximum": [('other=-float("inf")', "other=0.0")]},
        {"read once and put away": [('mask=c < C, other=-float("inf")', 'mask=c < C, other=-float("inf"), cache_modifier=".cg", eviction_policy="evict_first"')]},
        "triton"),
    paired(
        "total", TICKET.replace("TAKE", "atomicAdd"),
        workload_of("total", {"n": [100, 600]}, [out("y", INT, "1"), ("ticket", "inout", INT, "1", "listed(0)"), ("part", "scratch", INT, "(n + 127) // 128"), inp("x", INT, "n", "integers(-99, 99)"), number("n")], "ceil_div(n, 128)", 128, {"n": 1 << 14}),
        {"a ticket that only its block sees": TICKET.replace("TAKE", "atomicAdd_block")},
        {"a ticket that wraps": TICKET.replace("TAKE(ticket, 1)", "atomicInc((unsigned *)ticket, 0x7fffffffu)")}),
)  # fmt: skip
