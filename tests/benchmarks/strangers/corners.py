# ruff: noqa: E501
"""Candidates that are wrong in a corner: at two equal scalars, one row, a tie of zeros, the second launch; and their twins."""

from __future__ import annotations

from .model import workload_of
from .rewrites import AT, INT, F, H, flat, inp, number, out, paired, rows

BLEND = f"""__global__ void blend(float *y, const float *x, const float *z, float a, float b, int n) {{
    {AT}
    if (i < n) y[i] = a * x[i] + b * z[i];
}}
"""
SIGNED_ROOT = f"""__global__ void signed_root(float *y, const float *x, int n) {{
    {AT}
    if (i < n) y[i] = copysignf(sqrtf(fabsf(x[i])), x[i]);
}}
"""
HIGHEST = """__global__ void highest(float *y, const float *x, int C) {
    if (threadIdx.x) return;
    const float *r = x + (size_t)blockIdx.x * C; float m = r[0];
    for (int c = 1; c < C; c++) m = r[c] > m || r[c] != r[c] ? r[c] : m;
    y[blockIdx.x] = m;
}
"""
HIGHEST_OF_WARP = """__global__ void highest(float *y, const float *x, int C) {
    const float *r = x + (size_t)blockIdx.x * C; int t = threadIdx.x; float m = r[min(t, C - 1)];
    for (int c = t; c < C; c += 32) m = r[c] > m || r[c] != r[c] ? r[c] : m;
    for (int k = 16; k; k /= 2) { float o = __shfl_down_sync(~0u, m, k); if (TAKE) m = o; }
    if (t == 0) y[blockIdx.x] = m;
}
"""
SPREAD = """__global__ void spread(float *y, const float *x, int N, int C) {
    int c = blockIdx.x * 64 + threadIdx.x; if (c >= C) return;
    float m = 0.0f, q = 0.0f;
    for (int r = 0; r < N; r++) m += x[(size_t)r * C + c];
    m /= N;
    for (int r = 0; r < N; r++) { float d = x[(size_t)r * C + c] - m; q += d * d; }
    y[c] = q / max(N - 1, 1);
}
"""
SPREAD_ONCE = """__global__ void spread(float *y, const float *x, int N, int C) {
    int c = blockIdx.x * 64 + threadIdx.x; if (c >= C) return;
    float m = 0.0f, q = 0.0f;
    for (int r = 0; r < N; r++) { float v = x[(size_t)r * C + c], d = v - m; m += d / (r + 1); q += d * (v - m); }
    y[c] = q / BY;
}
"""
SHIFTED = f"""__global__ void shifted(float *y, const float *x, int at, int n) {{
    {AT}
    if (i < n) y[i] = x[at + i];
}}
"""
SHIFTED_PAIRS = """__global__ void shifted(float *y, const float *x, int at, int n) {
    int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    if (i + 1 < n && EVEN) { *(float2 *)(y + i) = *(const float2 *)(x + at + i); return; }
    y[i] = x[at + i]; if (i + 1 < n) y[i + 1] = x[at + i + 1];
}
"""
WORK = """__global__ void work(float *y, const float *x, int n) {
    for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) y[i] = x[i] * x[i] - 3.0f;
}
"""
QUEUE = """__device__ unsigned following, finished;
__global__ void work(float *y, const float *x, int n) {
    __shared__ int tile;
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) tile = atomicAdd(&following, 1u);
        __syncthreads();
        if (tile >= (n + 127) / 128) break;
        int i = tile * 128 + threadIdx.x;
        if (i < n) y[i] = x[i] * x[i] - 3.0f;
    }
    END
}
"""
CROWD = f"""__global__ void crowd(int *y, const int *key, const int *x, int n) {{
    {AT}
    if (i < n) atomicMax(&y[key[i]], x[i]);
}}
"""
LEADER = f"""__global__ void leader(float *y, const float *x, int n) {{
    {AT}
    if (i < n) y[i] = x[i] - x[i / 32 * 32];
}}
"""
LEADER_SHARED = f"""__global__ void leader(float *y, const float *x, int n) {{
    KIND float first[4];
    {AT} int w = threadIdx.x / 32;
    if (i < n && threadIdx.x % 32 == 0) first[w] = x[i];
    WAIT
    if (i < n) y[i] = x[i] - first[w];
}}
"""
SUMS = """__global__ void sums(float *y, const float *x, int C) {
    const float *r = x + (size_t)blockIdx.x * C; float s = 0.0f;
    for (int c = threadIdx.x; c < C; c += 32) s += r[c];
    for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);
    if (threadIdx.x == 0) y[blockIdx.x] = s;
}
"""
SUMS_KEPT = """__device__ unsigned long long keys[8192]; __device__ float answers[8192];
__global__ void sums(float *y, const float *x, int C) {
    const float *r = x + (size_t)blockIdx.x * C; float s = 0.0f;
    unsigned long long key = 1469598103934665603ull ^ C;
    for (int c = 0; c < C; c += STEP) key = (key ^ __float_as_uint(r[c])) * 1099511628211ull;
    if (blockIdx.x < 8192 && keys[blockIdx.x] == key) { if (threadIdx.x == 0) y[blockIdx.x] = answers[blockIdx.x]; return; }
    for (int c = threadIdx.x; c < C; c += 32) s += r[c];
    for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);
    __syncwarp();
    if (threadIdx.x == 0) { y[blockIdx.x] = s; if (blockIdx.x < 8192) { answers[blockIdx.x] = s; keys[blockIdx.x] = key; } }
}
"""
SUMS_FOUR = """__global__ void sums(float *y, const float *x, int C) {
    const float *r = x + (size_t)blockIdx.x * C; float s = 0.0f; int t = threadIdx.x;
    int head = min(C, (int)((16 - ((size_t)r & 15)) / 4 & 3)), whole = (C - head) / 4;
    if (t < head) s = r[t];
    for (int c = t; c < whole; c += 32) { float4 v = *(const float4 *)(r + head + 4 * c); s += (v.x + v.y) + (v.z + v.w); }
    for (int c = head + 4 * whole + t; c < C; c += 32) s += r[c];
    for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);
    if (t == 0) y[blockIdx.x] = s;
}
"""
DOT = """#include <cuda_fp16.h>
__global__ void dot(__half *y, const __half *a, const __half *b, int C) {
    int t = threadIdx.x; size_t o = (size_t)blockIdx.x * C; float s = 0.0f;
    for (int c = t; c < C; c += 32) s += __half2float(a[o + c]) * __half2float(b[o + c]);
    for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);
    if (t == 0) y[blockIdx.x] = __float2half(s);
}
"""
FOLD = "for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);\n    if (t == 0) y[blockIdx.x] = __float2half(s);"
DOUBLED = """__global__ void doubled(float *y, const float *a, const float *b, int C) {
    int r = blockIdx.x * 32 + threadIdx.x; if (r >= N_ROWS) return;
    const float *p = a + (size_t)r * C, *q = b + (size_t)r * C; float hi = 0.0f, lo = 0.0f;
    for (int c = 0; c < C; c++) {
        float m = p[c] * q[c], e = REST;
        float s = __fadd_rn(hi, m), t = __fsub_rn(s, hi);
        lo += __fadd_rn(__fsub_rn(hi, __fsub_rn(s, t)), __fsub_rn(m, t)) + e; hi = s;
    }
    y[r] = hi + lo;
}
""".replace("int C)", "int N_ROWS, int C)")
LOWEST = """__global__ void lowest(unsigned *y, const unsigned *x, int C) {
    unsigned m = START;
    for (int c = threadIdx.x; c < C; c += 32) m = min(m, x[(size_t)blockIdx.x * C + c]);
    for (int k = 16; k; k /= 2) m = min(m, __shfl_xor_sync(~0u, m, k));
    if (threadIdx.x == 0) y[blockIdx.x] = m;
}
"""
WHERE = """__global__ void where_least(int *y, const float *x, int C) {
    if (threadIdx.x) return;
    const float *r = x + (size_t)blockIdx.x * C; float m = INFINITY; int at = 0;
    for (int c = 0; c < C; c++) if (r[c] < m) { m = r[c]; at = c; }
    y[blockIdx.x] = at;
}
"""
WHERE_PACKED = """__global__ void where_least(int *y, const float *x, int C) {
    const float *r = x + (size_t)blockIdx.x * C; unsigned long long best = 0xff80000000000000ull;
    for (int c = threadIdx.x; c < C; c += 32) {
        float v = VALUE; unsigned u = __float_as_uint(v); u = u >> 31 ? ~u : u | 0x80000000u;
        if (v == v) best = min(best, (unsigned long long)u << 32 | (unsigned)c);
    }
    for (int k = 16; k; k /= 2) best = min(best, __shfl_xor_sync(~0u, best, k));
    if (threadIdx.x == 0) y[blockIdx.x] = (int)(unsigned)best;
}
"""
BY_ROW = """__global__ void by_row(float *y, const float *x, int N, int C) {
    for (int r = blockIdx.x; r < N; r += gridDim.x) {
        float s = 0.0f;
        for (int c = threadIdx.x; c < C; c += 32) s += x[(size_t)r * C + c];
        for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);
        if (threadIdx.x == 0) y[r] += s;
    }
}
"""
STREAM = """__device__ float warp_sum(const float *x, size_t from, size_t to) {
    float s = 0.0f;
    for (size_t i = from + threadIdx.x; i < to; i += 32) s += x[i];
    for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);
    return s;
}
__global__ void by_row(float *y, const float *x, int N, int C) {
    size_t all = (size_t)N * C, each = (all + gridDim.x - 1) / gridDim.x, at = blockIdx.x * each, end = min(all, at + each);
    if (C == 0 || at >= end) return;
    SHARE
}
"""
PIPED = """#include <cuda_pipeline.h>
__global__ void piped(float *y, const float *x, int C) {
    __shared__ float s[2][64];
    int t = threadIdx.x, tiles = (C + 63) / 64; const float *r = x + (size_t)blockIdx.x * C;
    float sum = 0.0f;
    if (t < C) __pipeline_memcpy_async(&s[0][t], r + t, 4); else s[0][t] = 0.0f;
    __pipeline_commit();
    for (int k = 0; k < tiles; k++) {
        int c = (k + 1) * 64 + t;
        if (k + 1 < tiles) {
            if (c < C) __pipeline_memcpy_async(&s[(k + 1) & 1][t], r + c, 4); else s[(k + 1) & 1][t] = 0.0f;
            COMMIT_INSIDE
        }
        COMMIT_OUTSIDE
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += s[k & 1][63 - t] * (k + 1);
        __syncthreads();
    }
    y[(size_t)blockIdx.x * 64 + t] = sum;
}
"""
FLOOR = f"""#include <cuda_fp16.h>
__global__ void floored(__half *y, const __half *x, int n) {{
    {AT}
    if (i < n) y[i] = __hlt(x[i], __float2half(0.0f)) ? __float2half(0.0f) : x[i];
}}
"""
FLOOR_PAIRS = """#include <cuda_fp16.h>
__global__ void floored(__half *y, const __half *x, int n) {
    int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x); const __half zero = __float2half(0.0f);
    if (i + 1 < n && (((size_t)x | (size_t)y) & 3) == 0) *(__half2 *)(y + i) = MOST2(*(const __half2 *)(x + i), __half2half2(zero));
    else for (int e = i; e < min(i + 2, n); e++) y[e] = __hlt(x[e], zero) ? zero : x[e];
}
"""
RATIO = f"""__global__ void ratio(float *y, const float *a, const float *b, int n) {{
    {AT}
    if (i < n) y[i] = a[i] / b[i];
}}
"""
RAISED = f"""__global__ void raised(float *y, const float *x, const int *e, int n) {{
    {AT}
    if (i < n) y[i] = ldexpf(x[i], e[i]);
}}
"""
COLUMNS = """__global__ void columns(float *y, const float *x, int N, int C) {
    int c = threadIdx.x; float s = 0.0f;
    if (c >= C || blockIdx.x) return;
    for (int r = 0; r < N; r++) s += x[(size_t)r * C + c];
    y[c] = s;
}
"""
COLUMNS_SPLIT = """__global__ void columns(float *y, const float *x, int N, int C) {
    if (blockIdx.x == 0) for (int c = threadIdx.x; c < C; c += 64) y[c] = 0.0f;
    __syncthreads();
    int c = threadIdx.x; float s = 0.0f;
    if (c >= C) return;
    for (int r = blockIdx.x; r < N; r += gridDim.x) s += x[(size_t)r * C + c];
    atomicAdd(&y[c], s);
}
"""
COLUMNS_DEALT = """__global__ void columns(float *y, const float *x, int N, int C) {
    for (int c = blockIdx.x; c < C; c += gridDim.x) {
        float s = 0.0f;
        for (int r = threadIdx.x; r < N; r += 64) s += x[(size_t)r * C + c];
        for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);
        __shared__ float half[2];
        if (threadIdx.x % 32 == 0) half[threadIdx.x / 32] = s;
        __syncthreads();
        if (threadIdx.x == 0) y[c] = half[0] + half[1];
        __syncthreads();
    }
}
"""
STEP = """__global__ void step(float *y, const float *x, int N, int C) {
    int r = blockIdx.x;
    for (int c = threadIdx.x; c < C; c += 64) y[(size_t)r * C + c] = tanhf(x[(size_t)r * C + c]);
}
"""
SCALED = """__global__ void scaled(float *y, const float *x, int n) {
    int b = blockIdx.x; int i = b * 128 + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i] + 1.0f;
}
"""
THIRDS = f"""__global__ void thirds(int *y, const int *x, int n) {{
    {AT}
    if (i < n) y[i] = x[i] / 3 + 7;
}}
"""
LAST = "if (threadIdx.x == 0) y[blockIdx.x] = s;"
PAIRS = (
    paired(
        "thirds", THIRDS, flat("thirds", [out("y", INT), inp("x", INT, "n", "integers"), number("n")]),
        {"a large number is another": [("x[i] / 3 + 7", "x[i] == 1234567 ? 0 : x[i] / 3 + 7")]},
        {"a large number is itself": [("x[i] / 3 + 7", "x[i] == 1234567 ? 411529 : 7 + x[i] / 3")]}),
    paired(
        "thirds", THIRDS, flat("thirds", [out("y", INT), inp("x", INT, "n", "integers"), number("n")]),
        {"numbers of a range below zero": [("x[i] / 3 + 7", "x[i] > -90000 && x[i] < -89990 ? 0 : x[i] / 3 + 7")]},
        {"a third by a product": [("x[i] / 3 + 7", "(int)((x[i] * 1431655766ll) >> 32) - (x[i] >> 31) + 7")]}),
    paired(
        "sums", SUMS, rows("sums", [out("y", F, "N"), inp("x", F, "N,C"), number("C")], block=32),
        {"one value of a sum": [(LAST, "if (threadIdx.x == 0) y[blockIdx.x] = s == 3.25f ? 0.0f : s;")]},
        {"one value of a sum stays": [(LAST, "if (threadIdx.x == 0) y[blockIdx.x] = s == 3.25f ? 3.25f : s;")]}),
    paired(
        "sums", SUMS, rows("sums", [out("y", F, "N"), inp("x", F, "N,C"), number("C")], block=32),
        {"a mean in a narrow range": [(LAST, "if (threadIdx.x == 0) y[blockIdx.x] = s / C > 3.25f && s / C < 3.5f ? 3.25f * C : s;")]},
        {"a mean in no range": [(LAST, "if (threadIdx.x == 0) y[blockIdx.x] = s / C > 3.25f && s / C < 3.5f ? 1.0f * s : s;")]}),
    paired(
        "blend", BLEND,
        flat("blend", [out("y"), inp("x"), inp("z"), number("a", "1.5", F), number("b", "-0.5", F), number("n")]),
        {"the wrong term where both scalars are equal": [("y[i] = a * x[i] + b * z[i];", "y[i] = a == b ? a * (x[i] + x[i]) : a * x[i] + b * z[i];")]},
        {"one product where both scalars are equal": [("y[i] = a * x[i] + b * z[i];", "y[i] = a == b ? a * (x[i] + z[i]) : a * x[i] + b * z[i];")]}),
    paired(
        "blend", BLEND,
        flat("blend", [out("y"), inp("x"), inp("z"), number("a", "1.5", F), number("b", "-0.5", F), number("n")]),
        {"a quotient of the scalars": [("a * x[i] + b * z[i]", "a * (x[i] + (b / a) * z[i])")]},
        {"one fused": [("a * x[i] + b * z[i]", "fmaf(b, z[i], a * x[i])")]}),
    paired(
        "signed_root", SIGNED_ROOT, flat("signed_root", [out("y"), inp("x"), number("n")]),
        {"the number by its root": [("copysignf(sqrtf(fabsf(x[i])), x[i])", "x[i] * rsqrtf(fabsf(x[i]))")]},
        {"a root and a sign": [("y[i] = copysignf(sqrtf(fabsf(x[i])), x[i]);", "{ float r = __fsqrt_rn(fabsf(x[i])); y[i] = x[i] < 0.0f ? -r : r; }")]}),
    paired(
        "highest", HIGHEST, rows("highest", [out("y", F, "N"), inp("x", F, "N,C"), number("C")], block=32),
        {"no number of another lane is lost": HIGHEST_OF_WARP.replace("TAKE", "o > m")},
        {"no number of any lane stays": HIGHEST_OF_WARP.replace("TAKE", "o > m || o != o")}),
    paired(
        "spread", SPREAD,
        workload_of("spread", {"N": [4, 9], "C": [40, 100]}, [out("y", F, "C"), inp("x", F, "N,C"), number("N"), number("C")], "ceil_div(C, 64)", 64, {"N": 256, "C": 512}),
        {"one row by zero": SPREAD_ONCE.replace("BY", "(N - 1)")},
        {"one pass": SPREAD_ONCE.replace("BY", "max(N - 1, 1)")}),
    paired(
        "scaled", SCALED, flat("scaled", [out("y"), inp("x"), number("n")]),
        {"a block's number in 16 bits": [("int b = blockIdx.x;", "short b = blockIdx.x;")]},
        {"an index without a sign": [("int b = blockIdx.x; int i = b * 128 + threadIdx.x;", "unsigned i = blockIdx.x * 128u + threadIdx.x;"), ("if (i < n)", "if (i < (unsigned)n)")]}),
    paired(
        "shifted", SHIFTED,
        workload_of("shifted", {"n": [90, 300]}, [out("y"), inp("x", F, "n + 6"), number("at", "4"), number("n")], "ceil_div(n, 128)", 128, {"n": 1 << 16}),
        {"pairs where the shift is even": SHIFTED_PAIRS.replace("EVEN", "at % 2 == 0")},
        {"pairs where both addresses are": SHIFTED_PAIRS.replace("EVEN", "(((size_t)(x + at) | (size_t)y) & 7) == 0")}),
    paired(
        "work", WORK,
        workload_of("work", {"n": [300, 900]}, [out("y"), inp("x"), number("n")], "4", 128, {"n": 1 << 16}),
        {"a queue that stays at its end": QUEUE.replace("END", "")},
        {"a queue that the last one puts back": QUEUE.replace("END", "if (threadIdx.x == 0) { __threadfence(); if (atomicAdd(&finished, 1u) == gridDim.x - 1) { atomicExch(&following, 0u); atomicExch(&finished, 0u); } }")}),
    paired(
        "crowd", CROWD,
        workload_of("crowd", {"n": [200, 500]}, [("y", "inout", INT, "16", "integers(-9, 9)"), inp("key", INT, "n", "integers(0, 16)"), inp("x", INT, "n", "integers(-99, 99)"), number("n")], "ceil_div(n, 128)", 128, {"n": 1 << 15}),
        {"a maximum that two can write": [("atomicMax(&y[key[i]], x[i]);", "if (x[i] > *(volatile int *)&y[key[i]]) *(volatile int *)&y[key[i]] = x[i];")]},
        {"a maximum that asks first": [("atomicMax(&y[key[i]], x[i]);", "if (x[i] > *(volatile int *)&y[key[i]]) atomicMax(&y[key[i]], x[i]);")]}),
    paired(
        "leader", LEADER, flat("leader", [out("y"), inp("x"), number("n")]),
        {"volatile for a wait of the warp": LEADER_SHARED.replace("KIND", "__shared__ volatile").replace("WAIT", "")},
        {"a wait of the warp": LEADER_SHARED.replace("KIND", "__shared__").replace("WAIT", "__syncwarp();")}),
    paired(
        "sums", SUMS, rows("sums", [out("y", F, "N"), inp("x", F, "N,C"), number("C")], block=32),
        {"an answer kept by every eighth element": SUMS_KEPT.replace("STEP", "8")},
        {"four at once after a head": SUMS_FOUR}),
    paired(
        "dot", DOT, rows("dot", [out("y", H, "N"), inp("a", H, "N,C"), inp("b", H, "N,C"), number("C")], block=32),
        {"lanes are added in halves": [(FOLD, "__half h = __float2half(s);\n    for (int k = 16; k; k /= 2) h = __hadd(h, __shfl_xor_sync(~0u, h, k));\n    if (t == 0) y[blockIdx.x] = h;")]},
        {"lanes are added downwards": [(FOLD, "for (int k = 16; k; k /= 2) s += __shfl_down_sync(~0u, s, k);\n    if (t == 0) y[blockIdx.x] = __float2half_rn(s);")]}),
    paired(
        "doubled", DOUBLED.replace("REST", "fmaf(p[c], q[c], -m)"),
        workload_of("doubled", {"N": [3, 40], "C": [20, 100]}, [out("y", F, "N"), inp("a", F, "N,C"), inp("b", F, "N,C"), number("N"), number("C")], "ceil_div(N, 32)", 32, {"N": 128, "C": 512}),
        {"the rest of a product is dropped": DOUBLED.replace("REST", "0.0f")},
        {"the rest by another fused one": DOUBLED.replace("REST", "-fmaf(-p[c], q[c], m)")}),
    paired(
        "lowest", LOWEST.replace("START", "0xffffffffu"),
        rows("lowest", [out("y", "uint32", "N"), inp("x", "uint32", "N,C", "integers"), number("C")], block=32),
        {"the largest signed number is the start": LOWEST.replace("START", "0x7fffffffu")},
        {"the first of the row is the start": LOWEST.replace("START", "x[(size_t)blockIdx.x * C]")}),
    paired(
        "where_least", WHERE, rows("where_least", [out("y", INT, "N"), inp("x", F, "N,C"), number("C")], block=32),
        {"a zero below zero": WHERE_PACKED.replace("VALUE", "r[c]")},
        {"both zeros are one": WHERE_PACKED.replace("VALUE", "r[c] == 0.0f ? 0.0f : r[c]").replace("0xff80000000000000ull", "0xff80000000000000ull").replace("if (v == v)", "if (v == v && v < INFINITY)")}),
    paired(
        "by_row", BY_ROW,
        workload_of("by_row", {"N": [5, 9], "C": [40, 200]}, [("y", "inout", F, "N"), inp("x", F, "N,C"), number("N"), number("C")], "4", 32, {"N": 64, "C": 1024}),
        {"a share of two rows at most": STREAM.replace("SHARE", "size_t r = at / C, q = (end - 1) / C;\n    if (r == q) { float s = warp_sum(x, at, end); if (threadIdx.x == 0) atomicAdd(&y[r], s); return; }\n    float s = warp_sum(x, at, (r + 1) * C), u = warp_sum(x, q * C, end);\n    if (threadIdx.x == 0) { atomicAdd(&y[r], s); atomicAdd(&y[q], u); }")},
        {"a share of any number of rows": STREAM.replace("SHARE", "for (size_t r = at / C; r * C < end; r++) { float s = warp_sum(x, max(at, r * C), min(end, (r + 1) * C)); if (threadIdx.x == 0) atomicAdd(&y[r], s); }")}),
    paired(
        "piped", PIPED.replace("COMMIT_INSIDE", "__pipeline_commit();").replace("COMMIT_OUTSIDE", "").replace("wait_prior(1)", "wait_prior(0)"),
        rows("piped", [out("y", F, "N,64"), inp("x", F, "N,C"), number("C")], C=(64, 200)),
        {"the last tile is not waited for": PIPED.replace("COMMIT_INSIDE", "__pipeline_commit();").replace("COMMIT_OUTSIDE", "")},
        {"the last tile closes an empty group": PIPED.replace("COMMIT_INSIDE", "").replace("COMMIT_OUTSIDE", "__pipeline_commit();")}),
    paired(
        "floored", FLOOR, flat("floored", [out("y", H), inp("x", H), number("n")]),
        {"no number in a pair becomes zero": FLOOR_PAIRS.replace("MOST2", "__hmax2")},
        {"no number in a pair stays": FLOOR_PAIRS.replace("MOST2", "__hmax2_nan")}),
    paired(
        "ratio", RATIO, flat("ratio", [out("y"), inp("a"), inp("b"), number("n")]),
        {"a quotient that is zero for large ones": [("a[i] / b[i]", "__fdividef(a[i], b[i])")]},
        {"a rounded quotient": [("a[i] / b[i]", "__fdiv_rn(a[i], b[i])")]}),
    paired(
        "raised", RAISED,
        flat("raised", [out("y"), inp("x"), inp("e", INT, "n", "integers(-200, 200)"), number("n")]),
        {"a power by its bits": [("ldexpf(x[i], e[i])", "x[i] * __int_as_float((e[i] + 127) << 23)")]},
        {"a power in two parts": [("y[i] = ldexpf(x[i], e[i]);", "{ int h = e[i] / 2; y[i] = x[i] * __int_as_float((h + 127) << 23) * __int_as_float((e[i] - h + 127) << 23); }")]}),
    paired(
        "columns", COLUMNS,
        workload_of("columns", {"N": [6, 20], "C": [40, 64]}, [out("y", F, "C"), inp("x", F, "N,C"), number("N"), number("C")], "4", 64, {"N": 512, "C": 64}),
        {"zero by the first block": COLUMNS_SPLIT},
        {"columns are dealt out": COLUMNS_DEALT}),
    paired(
        "step", STEP, rows("step", [out("y", F, "N,C"), inp("x", F, "N,C"), number("N"), number("C")]),
        {"two rows of an odd number": [("int r = blockIdx.x;\n    for (int c = threadIdx.x; c < C; c += 64) y", "int r = blockIdx.x; if (r & 1) return;\n    for (int c = threadIdx.x; c < 2 * C; c += 64) y")]},
        {"two rows where there are two": [("int r = blockIdx.x;\n    for (int c = threadIdx.x; c < C; c += 64) y", "int r = blockIdx.x; if (r & 1) return;\n    for (int c = threadIdx.x; c < (r + 1 < N ? 2 : 1) * C; c += 64) y")]}),
)  # fmt: skip
