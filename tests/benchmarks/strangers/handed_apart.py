# ruff: noqa: E501
"""Ten more of what optimised kernels hand on, written when the gate was done with the others."""

from __future__ import annotations

from .handed import ROW_SUM, ROW_SUM_ARGS, B
from .kinds.blocks import HEAD, launched
from .model import workload_of
from .rewrites import AT, INT, F, flat, inp, number, out, paired, rows

COLUMNS = """__global__ void columns(float *y, const float *x, int N, int C) {
    int c = blockIdx.x * 32 + threadIdx.x % 32;
    if (blockIdx.y || threadIdx.x >= 32 || c >= C) return;
    float s = 0.0f;
    for (int r = 0; r < N; r++) s += x[(size_t)r * C + c];
    y[c] = s;
}
"""
COLUMNS_LAST = """__device__ float part[8 * 4096]; __device__ unsigned done[128];
__global__ void columns(float *y, const float *x, int N, int C) {
    __shared__ float s[128]; __shared__ bool last;
    int t = threadIdx.x, lane = t % 32, w = t / 32, c = blockIdx.x * 32 + lane; float v = 0.0f;
    if (c < C) for (int r = blockIdx.y * 4 + w; r < N; r += 32) v += x[(size_t)r * C + c];
    s[t] = v;
    __syncthreads();
    if (w == 0) { part[blockIdx.y * 4096 + blockIdx.x * 32 + lane] = s[lane] + s[lane + 32] + s[lane + 64] + s[lane + 96]; FENCE }
    MEET
    if (t == 0) { __threadfence(); last = atomicInc(&done[blockIdx.x], 7) == 7; }
    __syncthreads();
    if (!last || w || c >= C) return;
    __threadfence();
    v = 0.0f;
    for (int k = 0; k < 8; k++) v += __ldcg(&part[k * 4096 + blockIdx.x * 32 + lane]);
    y[c] = v;
}
"""
BUFFERED = """#include <cuda_pipeline.h>
__global__ void row_sum(float *y, const float *x, int C) {
    __shared__ float s[2][64]; __shared__ float part[2];
    int t = threadIdx.x, tiles = (C + 63) / 64; const float *r = x + (size_t)blockIdx.x * C; float sum = 0.0f;
    for (int k = 0; k <= tiles; k++) {
        if (k < tiles) { int c = k * 64 + t; __pipeline_memcpy_async(&s[k % 2][t], r + min(c, C - 1), 4, c < C ? 0 : 4); }
        __pipeline_commit();
        if (k) { __pipeline_wait_prior(LEFT); sum += s[(k - 1) % 2][t]; }
    }
    for (int k = 16; k; k /= 2) sum += __shfl_xor_sync(~0u, sum, k);
    if (t % 32 == 0) part[t / 32] = sum;
    __syncthreads();
    if (t == 0) y[blockIdx.x] = part[0] + part[1];
}
"""
NORM = """#include <cuda_bf16.h>
__global__ void rescaled(__nv_bfloat16 *y, const __nv_bfloat16 *x, const __nv_bfloat16 *skip, int C) {
    size_t o = (size_t)blockIdx.x * C; float q = 0.0f;
    for (int c = threadIdx.x; c < C; c += 32) { float v = __bfloat162float(x[o + c]) + __bfloat162float(skip[o + c]); q += v * v; }
    for (int k = 16; k; k /= 2) q += __shfl_xor_sync(~0u, q, k);
    float scale = rsqrtf(q / C + 1e-6f);
    for (int c = threadIdx.x; c < C; c += 32) y[o + c] = __float2bfloat16((__bfloat162float(x[o + c]) + __bfloat162float(skip[o + c])) * scale);
}
"""
LEAST = f"""__global__ void least(int *y, const float *x, int n) {{
    {AT}
    if (i < n) {{ int b = __float_as_int(x[i]); atomicMin(y, b < 0 ? b ^ 0x7FFFFFFF : b); }}
}}
"""
PACKED = """__global__ void packed(float *y, const float *x, const int *start, int S, int T) {
    int i = blockIdx.x * 64 + threadIdx.x, s = 0;
    if (i >= T) return;
    while (s < S - 1 && start[s + 1] <= i) s++;
    y[i] = x[i] - x[start[s]];
}
"""
PACKED_HALVED = """__global__ void packed(float *y, const float *x, const int *start, int S, int T) {
    int i = blockIdx.x * 64 + threadIdx.x, low = 0, high = S - 1;
    if (i >= T) return;
    while (low < high) { int m = MIDDLE; if (start[m] <= i) low = m; else high = m - 1; }
    y[i] = x[i] - x[start[low]];
}
"""
MIXED = """__global__ void mixed(int *y, const unsigned char *a, const signed char *b, int C) {
    int s = 0; size_t o = (size_t)blockIdx.x * C;
    for (int c = threadIdx.x; c < C; c += 32) s += a[o + c] * b[c];
    s = __reduce_add_sync(~0u, s);
    if (threadIdx.x == 0) y[blockIdx.x] = s;
}
"""
MIXED_FOUR = """__device__ int four(const void *p) { const unsigned char *q = (const unsigned char *)p; return q[0] | q[1] << 8 | q[2] << 16 | q[3] << 24; }
__global__ void mixed(int *y, const unsigned char *a, const signed char *b, int C) {
    int s = 0, c = 4 * threadIdx.x; size_t o = (size_t)blockIdx.x * C;
    for (; c + 3 < C; c += 128) s = SUM;
    for (; c < C; c++) s += a[o + c] * b[c];
    s = __reduce_add_sync(~0u, s);
    if (threadIdx.x == 0) y[blockIdx.x] = s;
}
"""
SOFT = """def soft(y, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * C + c, mask=c < C, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * C + c, e / tl.sum(e, axis=0), mask=c < C)
"""
SOFT_TILED = (
    HEAD
    + """def soft(y, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    most = tl.full((64,), -float("inf"), tl.float32)
    for at in range(0, C, 64):
        c = at + tl.arange(0, 64)
        most = tl.maximum(most, tl.load(x + row * C + c, mask=c < C, other=-float("inf")))
    top = tl.max(most, axis=0)
    total = tl.zeros((64,), tl.float32)
    for at in range(0, C, 64):
        c = at + tl.arange(0, 64)
        total += tl.exp(tl.load(x + row * C + c, mask=c < C, other=OTHER) - top)
    for at in range(0, C, 64):
        c = at + tl.arange(0, 64)
        tl.store(y + row * C + c, tl.exp(tl.load(x + row * C + c, mask=c < C, other=0.0) - top) / tl.sum(total, axis=0), mask=c < C)
"""
)
MERGED = """def merged(y, x, C, BLOCK: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + c, mask=c < C, other=0.0)
    tl.atomic_add(y, tl.sum(v, axis=0))
"""
MERGED_LOCK = (
    HEAD
    + """def merged(y, x, C, BLOCK: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.sum(tl.load(x + c, mask=c < C, other=0.0), axis=0)
    old = tl.load(y)
    ROUND
"""
)
PAIRS = (
    paired("columns", COLUMNS, workload_of("columns", {"N": [20, 70], "C": [40, 64]}, [out("y", F, "C"), inp("x", F, "N,C"), number("N"), number("C")], 'ceil_div(C, 32)", "8', 128, {"N": 512, "C": 256}),
        {"lanes of the first warp store, and the first thread counts": COLUMNS_LAST.replace("FENCE", "__threadfence_block();").replace("MEET", "")},
        {"lanes of the first warp have stored when the first thread counts": COLUMNS_LAST.replace("FENCE", "").replace("MEET", "__syncwarp();")}, untuned=True),
    paired("row_sum", ROW_SUM, rows("row_sum", ROW_SUM_ARGS),
        {"the copy that is read is the one left in flight": BUFFERED.replace("LEFT", "2")}, {"the copy of the next tile is left in flight": BUFFERED.replace("LEFT", "1")}, untuned=True),
    paired("rescaled", NORM, rows("rescaled", [out("y", B, "N,C"), inp("x", B, "N,C"), inp("skip", B, "N,C"), number("C")], block=32),
        {"the sum is narrow before it is squared": [("float v = __bfloat162float(x[o + c]) + __bfloat162float(skip[o + c]);", "float v = __bfloat162float(__hadd(x[o + c], skip[o + c]));")]},
        {"the sum is wide until it is stored": [("float v = __bfloat162float(x[o + c]) + __bfloat162float(skip[o + c]);", "float v = __fadd_rn(__bfloat162float(skip[o + c]), __bfloat162float(x[o + c]));")]}, untuned=True),
    paired("least", LEAST, flat("least", [("y", "inout", INT, "1", "integers(2000000000, 2000000001)"), inp("x"), number("n")]),
        {"a warp's least by unsigned numbers": [("if (i < n) { int b = __float_as_int(x[i]); atomicMin(y, b < 0 ? b ^ 0x7FFFFFFF : b); }", "int b = i < n ? __float_as_int(x[i]) : 0x7FFFFFFF; b = b < 0 ? b ^ 0x7FFFFFFF : b; b = (int)__reduce_min_sync(~0u, (unsigned)b); if (threadIdx.x % 32 == 0) atomicMin(y, b);")]},
        {"a warp's least by signed numbers": [("if (i < n) { int b = __float_as_int(x[i]); atomicMin(y, b < 0 ? b ^ 0x7FFFFFFF : b); }", "int b = i < n ? __float_as_int(x[i]) : 0x7FFFFFFF; b = b < 0 ? b ^ 0x7FFFFFFF : b; b = __reduce_min_sync(~0u, b); if (threadIdx.x % 32 == 0) atomicMin(y, b);")]}, untuned=True),
    paired("packed", PACKED, workload_of("packed", {"S": [3, 6], "T": [50, 130]}, [out("y", F, "T"), inp("x", F, "T"), inp("start", INT, "S + 1", "offsets(T)"), number("S"), number("T")], "ceil_div(T, 64)", 64, {"S": 64, "T": 4096}),
        {"a search for the last of equal starts ends a start early": PACKED_HALVED.replace("MIDDLE", "(low + high) / 2 + (high - low > 1)")},
        {"a search for the last of equal starts": PACKED_HALVED.replace("MIDDLE", "(low + high + 1) / 2")}, untuned=True),
    paired("mixed", MIXED, rows("mixed", [out("y", INT, "N"), inp("a", "uint8", "N,C", "integers"), inp("b", "int8", "C", "integers"), number("C")], block=32),
        {"four bytes above 127 are below zero": MIXED_FOUR.replace("SUM", "__dp4a(four(a + o + c), four(b + c), s)")},
        {"four bytes, and 128 of each apart": MIXED_FOUR.replace("SUM", "__dp4a((int)(four(a + o + c) ^ 0x80808080), four(b + c), s) + 128 * __dp4a(0x01010101, four(b + c), 0)")}, untuned=True),
    paired("wrapped", f"""__global__ void wrapped(float *y, const float *x, int n, int by) {{
    {AT}
    if (i < n) {{ int j = (i - by) % n; y[i] = x[j < 0 ? j + n : j]; }}
}}
""", flat("wrapped", [out("y"), inp("x"), number("n"), number("by", "5")]),
        {"one turn round is enough": [("int j = (i - by) % n; y[i] = x[j < 0 ? j + n : j];", "int j = i - by; if (j < 0) j += n; if (j >= n) j -= n; if (j >= 0 && j < n) y[i] = x[j]; else y[i] = x[i];")]},
        {"turned as often as it needs": [("int j = (i - by) % n; y[i] = x[j < 0 ? j + n : j];", "int k = by % n, j = i - k; y[i] = x[j < 0 ? j + n : j >= n ? j - n : j];")]}, untuned=True),
    paired("soft", SOFT, launched("soft", {"N": [2, 5], "C": [40, 130]}, [out("y", F, "N,C"), inp("x", F, "N,C"), number("C")], "N", "next_power_of_2(C)", {"N": 64, "C": 1024}),
        {"beyond the row a floor is summed": SOFT_TILED.replace("OTHER", "-20.0")},
        {"beyond the row nothing is summed": SOFT_TILED.replace("OTHER", '-float("inf")')}, "triton", untuned=True),
    paired("merged", MERGED, launched("merged", {"C": [100, 300]}, [("y", "inout", F, "1"), inp("x", F, "C"), number("C")], "ceil_div(C, 64)", "64", {"C": 1 << 12}),
        {"an exchange that may lose what came between": MERGED_LOCK.replace("ROUND", "tl.atomic_xchg(y, old + v)")},
        {"an exchange that gives back what came between": MERGED_LOCK.replace("    old = tl.load(y)\n    ROUND", "    while v != 0.0:\n        v = tl.atomic_xchg(y, tl.atomic_xchg(y, 0.0) + v)")}, "triton", untuned=True),
    paired("picked", """__global__ void picked(float *y, const float *x, const unsigned char *keep, int C) {
    size_t o = (size_t)blockIdx.x * C; float most = -INFINITY;
    if (threadIdx.x) return;
    for (int c = 0; c < C; c++) if (keep[o + c]) most = fmaxf(most, x[o + c]);
    y[blockIdx.x] = most;
}
""", rows("picked", [out("y", F, "N"), inp("x", F, "N,C"), inp("keep", "uint8", "N,C", "integers(0, 3)"), number("C")]),
        {"a row that is not kept is its floor": """__global__ void picked(float *y, const float *x, const unsigned char *keep, int C) {
    __shared__ float s[64]; size_t o = (size_t)blockIdx.x * C; int t = threadIdx.x; float most = -3.4e38f;
    for (int c = t; c < C; c += 64) if (keep[o + c]) most = fmaxf(most, x[o + c]);
    s[t] = most;
    for (int k = 32; k; k /= 2) { __syncthreads(); if (t < k) s[t] = fmaxf(s[t], s[t + k]); }
    if (t == 0) y[blockIdx.x] = s[0];
}
"""},
        {"a row that is not kept is below all": """__global__ void picked(float *y, const float *x, const unsigned char *keep, int C) {
    __shared__ float s[64]; size_t o = (size_t)blockIdx.x * C; int t = threadIdx.x; float most = -INFINITY;
    for (int c = t; c < C; c += 64) most = fmaxf(most, keep[o + c] ? x[o + c] : -INFINITY);
    s[t] = most;
    for (int k = 32; k; k /= 2) { __syncthreads(); if (t < k) s[t] = fmaxf(s[t], s[t + k]); }
    if (t == 0) y[blockIdx.x] = s[0];
}
"""}, untuned=True),
)  # fmt: skip
