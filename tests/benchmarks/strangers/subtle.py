# ruff: noqa: E501
"""What goes wrong between blocks, tiles and launches, and careful rewrites of the same."""

from __future__ import annotations

from .kinds.blocks import launched
from .model import workload_of
from .rewrites import AT, INT, F, inp, number, out, paired, rows

CHAIN = """__global__ void chain(int *y, volatile int *sum, int *done, const int *x, int n) {
    __shared__ int s[64], before;
    int t = threadIdx.x, b = blockIdx.x, i = b * 64 + t;
    s[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int k = 1; k < 64; k *= 2) { int v = t >= k ? s[t - k] : 0; __syncthreads(); s[t] += v; __syncthreads(); }
    if (t == 0) {
        int got = 0;
        if (b > 0) { while (atomicAdd(&done[b - 1], 0) == 0) {} __threadfence(); got = sum[b - 1]; }
        before = got;
        PUBLISH
    }
    __syncthreads();
    if (i < n) y[i] = before + s[t];
}
"""
STAGED = """__device__ __forceinline__ void fetch(float *s, const float *g, bool ask) {
    unsigned at = (unsigned)__cvta_generic_to_shared(s); int size = ask ? 4 : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at), "l"(g), "r"(size) : "memory");
}
__global__ void staged(float *y, const float *x, int C) {
    __shared__ float s[4][64];
    int t = threadIdx.x; const float *r = x + (size_t)blockIdx.x * C;
    int tiles = (C + 63) / 64; float sum = 0.0f;
    for (int k = 0; k < 3; k++) {
        if (k < tiles) fetch(&s[k][t], k * 64 + t < C ? r + k * 64 + t : r, k * 64 + t < C);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    for (int k = 0; k < tiles; k++) {
        asm volatile("cp.async.wait_group WAIT;" ::: "memory");
        __syncthreads();
        if (k + 3 < tiles) fetch(&s[(k + 3) % 4][t], (k + 3) * 64 + t < C ? r + (k + 3) * 64 + t : r, (k + 3) * 64 + t < C);
        asm volatile("cp.async.commit_group;" ::: "memory");
        sum += s[k % 4][t ^ 1] * (k + 1.0f);
    }
    y[(size_t)blockIdx.x * 64 + t] = sum;
}
"""
WELFORD = """__global__ void standard(float *y, const float *x, int C) {
    int t = threadIdx.x; const float *r = x + (size_t)blockIdx.x * C;
    float m = 0.0f, q = 0.0f, k = 0.0f;
    for (int c = t; c < C; c += 32) { k += 1.0f; float d = r[c] - m; m += d / k; q += d * (r[c] - m); }
    for (int o = 16; o; o /= 2) {
        float mo = __shfl_xor_sync(~0u, m, o), qo = __shfl_xor_sync(~0u, q, o), ko = __shfl_xor_sync(~0u, k, o);
        MERGE
    }
    float scale = rsqrtf(q / C + 1e-5f);
    for (int c = t; c < C; c += 32) y[(size_t)blockIdx.x * C + c] = (r[c] - m) * scale;
}
"""
FLASH = """__global__ void flash(float *y, const float *q, const float *k, const float *v, int C) {
    int t = threadIdx.x; const float *a = q + (size_t)blockIdx.x * 32;
    float m = -INFINITY, l = 0.0f, o = 0.0f;
    for (int c = 0; c < C; c++) {
        float s = a[t] * k[c * 32 + t];
        for (int j = 16; j; j /= 2) s += __shfl_xor_sync(~0u, s, j);
        s *= 0.25f;
        STEP
    }
    y[(size_t)blockIdx.x * 32 + t] = o / l;
}
"""
PEAK = """__global__ void peak(float *y, const float *x, int C) {
    __shared__ TYPE best;
    if (threadIdx.x == 0) best = LEAST;
    __syncthreads();
    for (int c = threadIdx.x; c < C; c += 64) { float v = x[(size_t)blockIdx.x * C + c]; if (v == v) { KEY } }
    __syncthreads();
    if (threadIdx.x == 0) { VALUE }
}
"""
LUT = """CACHE
__global__ void gamma(float *y, const unsigned char *x, const float *g, int n) {
    FILL
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] = TABLE[x[i]];
}
"""
FIELDS = f"""__global__ void fields(int *y, const unsigned *a, int n) {{
    {AT}
    if (i >= n) return;
    unsigned v = 0;
    for (int k = 0; k < 11; k++) {{ int p = i * 11 + k; v |= (a[p / 32] >> (p % 32) & 1u) << k; }}
    y[i] = (int)v;
}}
"""
BITS = FIELDS[FIELDS.index("    unsigned v") : FIELDS.index("    y[i]")]
CROSS = """__global__ void cross(float *y, const float *x, int H, int W) {
    int c = blockIdx.x * 16 + threadIdx.x % 16, r = blockIdx.y * 8 + threadIdx.x / 16;
    if (r >= H || c >= W) return;
    float s = 0.0f;
    for (int i = -1; i <= 1; i++) for (int j = -1; j <= 1; j++)
        if (r + i >= 0 && r + i < H && c + j >= 0 && c + j < W) s += x[(r + i) * W + c + j] * (i * 3 + j + 5);
    y[r * W + c] = s;
}
"""
TILED = """__device__ float at(const float *x, int r, int c, int H, int W) { return r >= 0 && r < H && c >= 0 && c < W ? x[r * W + c] : 0.0f; }
__global__ void cross(float *y, const float *x, int H, int W) {
    __shared__ float s[10][18];
    int a = threadIdx.x % 16, b = threadIdx.x / 16, c = blockIdx.x * 16 + a, r = blockIdx.y * 8 + b;
    s[b + 1][a + 1] = at(x, r, c, H, W);
    if (b == 0) s[0][a + 1] = at(x, r - 1, c, H, W);
    if (b == 7) s[9][a + 1] = at(x, r + 1, c, H, W);
    if (a == 0) s[b + 1][0] = at(x, r, c - 1, H, W);
    if (a == 15) s[b + 1][17] = at(x, r, c + 1, H, W);
    CORNERS
    __syncthreads();
    if (r >= H || c >= W) return;
    float v = 0.0f;
    for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) v += s[b + i][a + j] * (i * 3 + j + 1);
    y[r * W + c] = v;
}
"""
ROLES = """__global__ void roles(float *y, const float *x, int C) {
    __shared__ float s[2][32];
    int lane = threadIdx.x % 32, tiles = (C + 31) / 32; const float *r = x + (size_t)blockIdx.x * C;
    if (threadIdx.x < 32) {
        for (int k = 0; k < tiles; k++) {
            EMPTY
            s[k & 1][lane] = k * 32 + lane < C ? r[k * 32 + lane] : 0.0f;
            asm volatile("bar.arrive %0, 64;" ::"r"(1 + (k & 1)) : "memory");
        }
    } else {
        float sum = 0.0f;
        for (int k = 0; k < tiles; k++) {
            asm volatile("bar.sync %0, 64;" ::"r"(1 + (k & 1)) : "memory");
            for (int j = 0; j < 32; j++) sum += s[k & 1][j] * (j == lane ? 3.0f : 1.0f);
            FREE
        }
        y[(size_t)blockIdx.x * 32 + lane] = sum;
    }
}
"""
PAIRS = (
    paired(
        "chain", CHAIN.replace("PUBLISH", "sum[b] = got + s[63]; __threadfence(); atomicExch(&done[b], 1);"),
        workload_of("chain", {"n": [100, 300]}, [out("y", INT), ("sum", "inout", INT, "(n + 63) // 64", "listed(0)"), ("done", "inout", INT, "(n + 63) // 64", "listed(0)"), inp("x", INT, "n", "integers(-9, 9)"), number("n")], "ceil_div(n, 64)", 64, {"n": 4096}),
        {"a flag is before its sum": CHAIN.replace("PUBLISH", "sum[b] = got + s[63]; atomicExch(&done[b], 1);")},
        {"released and acquired": CHAIN.replace("PUBLISH", 'sum[b] = got + s[63]; asm volatile("st.release.gpu.global.s32 [%0], 1;" ::"l"(done + b) : "memory");').replace("while (atomicAdd(&done[b - 1], 0) == 0) {} __threadfence();", 'int f; do asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(f) : "l"(done + b - 1) : "memory"); while (f == 0);')}),
    paired(
        "staged",
        """__global__ void staged(float *y, const float *x, int C) {
    int t = threadIdx.x; const float *r = x + (size_t)blockIdx.x * C; float sum = 0.0f;
    for (int k = 0; k * 64 < C; k++) { int c = k * 64 + (t ^ 1); sum += (c < C ? r[c] : 0.0f) * (k + 1.0f); }
    y[(size_t)blockIdx.x * 64 + t] = sum;
}
""",
        rows("staged", [out("y", F, "N,64"), inp("x", F, "N,C"), number("C")], C=(64, 330)),
        {"one group too many in flight": STAGED.replace("WAIT", "3")},
        {"two groups in flight": STAGED.replace("WAIT", "2")}),
    paired(
        "standard",
        """__global__ void standard(float *y, const float *x, int C) {
    int t = threadIdx.x; const float *r = x + (size_t)blockIdx.x * C; float m = 0.0f, q = 0.0f;
    for (int c = t; c < C; c += 32) m += r[c];
    for (int o = 16; o; o /= 2) m += __shfl_xor_sync(~0u, m, o);
    m /= C;
    for (int c = t; c < C; c += 32) q += (r[c] - m) * (r[c] - m);
    for (int o = 16; o; o /= 2) q += __shfl_xor_sync(~0u, q, o);
    float scale = rsqrtf(q / C + 1e-5f);
    for (int c = t; c < C; c += 32) y[(size_t)blockIdx.x * C + c] = (r[c] - m) * scale;
}
""",
        rows("standard", [out("y", F, "N,C"), inp("x", F, "N,C"), number("C")], C=(64, 256), block=32),
        {"lanes count the same": WELFORD.replace("MERGE", "float d = mo - m; q += qo + d * d * k * 0.5f; m = (m + mo) * 0.5f; k += ko;")},
        {"two passes into one": WELFORD.replace("MERGE", "float d = mo - m, all = k + ko; if (all > 0.0f) { q += qo + d * d * (k * ko / all); m = (m * k + mo * ko) / all; } k = all;")}),
    paired(
        "flash",
        """__global__ void flash(float *y, const float *q, const float *k, const float *v, int C) {
    int t = threadIdx.x; const float *a = q + (size_t)blockIdx.x * 32;
    float m = -INFINITY, l = 0.0f, o = 0.0f;
    for (int p = 0; p < 2; p++) for (int c = 0; c < C; c++) {
        float s = 0.0f;
        for (int j = 0; j < 32; j++) s += a[j] * k[c * 32 + j];
        s *= 0.25f;
        if (p == 0) m = fmaxf(m, s); else { float e = expf(s - m); l += e; o += e * v[c * 32 + t]; }
    }
    y[(size_t)blockIdx.x * 32 + t] = o / l;
}
""",
        workload_of("flash", {"N": [2, 3], "C": [20, 70]}, [out("y", F, "N,32"), inp("q", F, "N,32"), inp("k", F, "C,32"), inp("v", F, "C,32"), number("C")], "N", 32, {"N": 64, "C": 512}),
        {"a small rise is not scaled": FLASH.replace("STEP", "float n = fmaxf(m, s), e = expf(s - n); if (n > m + 0.02f) { float f = expf(m - n); l *= f; o *= f; } m = n; l += e; o += e * v[c * 32 + t];")},
        {"scaled where it rises": FLASH.replace("STEP", "float n = fmaxf(m, s), z = n == -INFINITY ? 0.0f : n, e = expf(s - z); if (n > m) { float f = expf(m - z); l *= f; o *= f; } m = n; l += e; o += e * v[c * 32 + t];")}),
    paired(
        "peak",
        """__global__ void peak(float *y, const float *x, int C) {
    if (threadIdx.x) return;
    float m = -INFINITY;
    for (int c = 0; c < C; c++) m = fmaxf(m, x[(size_t)blockIdx.x * C + c]);
    y[blockIdx.x] = m;
}
""",
        rows("peak", [out("y", F, "N"), inp("x", F, "N,C"), number("C")]),
        {"floats as integers": PEAK.replace("TYPE", "int").replace("LEAST", "__float_as_int(-INFINITY)").replace("KEY", "atomicMax(&best, __float_as_int(v));").replace("VALUE", "y[blockIdx.x] = __int_as_float(best);")},
        {"floats in an order": PEAK.replace("TYPE", "unsigned").replace("LEAST", "0x007fffffu").replace("KEY", "unsigned u = __float_as_uint(v); atomicMax(&best, u >> 31 ? ~u : u | 0x80000000u);").replace("VALUE", "unsigned u = best; y[blockIdx.x] = __uint_as_float(u >> 31 ? u & 0x7fffffffu : ~u);")}),
    paired(
        "gamma",
        f"""__global__ void gamma(float *y, const unsigned char *x, const float *g, int n) {{
    {AT}
    if (i < n) y[i] = powf(x[i] * (1.0f / 255.0f), g[0]);
}}
""",
        workload_of("gamma", {"n": [200, 700]}, [out("y"), inp("x", "uint8", "n", "integers"), inp("g", F, "1", "uniform(0.4, 2.5)"), number("n")], "ceil_div(n, 128)", 128, {"n": 1 << 18}),
        {"a table that stays": LUT.replace("CACHE", "__device__ float kept[4][256]; __device__ float made[4];").replace("FILL", "int b = blockIdx.x % 4; __shared__ float table[256]; bool have = made[b] == floorf(g[0] * 4.0f) + 1.0f;\n    for (int k = threadIdx.x; k < 256; k += 128) table[k] = have ? kept[b][k] : powf(k * (1.0f / 255.0f), g[0]);\n    __syncthreads();\n    if (gridDim.x <= 4 && !have) { for (int k = threadIdx.x; k < 256; k += 128) kept[b][k] = table[k]; if (threadIdx.x == 0) made[b] = floorf(g[0] * 4.0f) + 1.0f; }").replace("TABLE", "table")},
        {"a table for each block": LUT.replace("CACHE", "").replace("FILL", "__shared__ float table[256];\n    for (int k = threadIdx.x; k < 256; k += 128) table[k] = powf(k * (1.0f / 255.0f), g[0]);\n    __syncthreads();").replace("TABLE", "table")}),
    paired(
        "fields", FIELDS,
        workload_of("fields", {"n": [64, 320]}, [out("y", INT), inp("a", "uint32", "(n * 11 + 31) // 32", "integers"), number("n")], "ceil_div(n, 128)", 128, {"n": 1 << 18}),
        {"the word after the last": [(BITS, "    int p = i * 11; unsigned v = __funnelshift_r(a[p / 32], a[p / 32 + 1], p) & 2047u;\n")]},
        {"the next word where it is asked": [(BITS, "    int p = i * 11; unsigned v = a[p / 32] >> p % 32; if (p % 32 > 21) v |= a[p / 32 + 1] << (32 - p % 32); v &= 2047u;\n")]}),
    paired(
        "cross", CROSS,
        workload_of("cross", {"H": [8, 20], "W": [16, 40]}, [out("y", F, "H,W"), inp("x", F, "H,W"), number("H"), number("W")], "ceil_div(W, 16)", 128, {"H": 512, "W": 512}).replace('grid = ["ceil_div(W, 16)"]', 'grid = ["ceil_div(W, 16)", "ceil_div(H, 8)"]'),
        {"corners of a tile are zero": TILED.replace("CORNERS", "if (threadIdx.x < 4) s[threadIdx.x / 2 * 9][threadIdx.x % 2 * 17] = 0.0f;")},
        {"corners of a tile": TILED.replace("CORNERS", "if (threadIdx.x < 4) { int i = threadIdx.x / 2 * 9, j = threadIdx.x % 2 * 17; s[i][j] = at(x, (int)blockIdx.y * 8 + i - 1, (int)blockIdx.x * 16 + j - 1, H, W); }")}),
    paired(
        "roles",
        """__global__ void roles(float *y, const float *x, int C) {
    int lane = threadIdx.x; const float *r = x + (size_t)blockIdx.x * C; float sum = 0.0f;
    if (lane >= 32) return;
    for (int c = 0; c < C; c++) sum += r[c] * (c % 32 == lane ? 3.0f : 1.0f);
    y[(size_t)blockIdx.x * 32 + lane] = sum;
}
""",
        rows("roles", [out("y", F, "N,32"), inp("x", F, "N,C"), number("C")], C=(32, 100)),
        {"a slot is taken as free": ROLES.replace("EMPTY", "").replace("FREE", "")},
        {"a slot is given back": ROLES.replace("EMPTY", 'if (k > 1) asm volatile("bar.sync %0, 64;" ::"r"(3 + (k & 1)) : "memory");').replace("FREE", 'if (k + 2 < tiles) asm volatile("bar.arrive %0, 64;" ::"r"(3 + (k & 1)) : "memory");')}),
    paired(
        "idot",
        """def idot(y, a, b, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    s = tl.zeros((BLOCK,), tl.int32)
    for at in range(0, C, BLOCK):
        c = at + tl.arange(0, BLOCK)
        s += tl.load(a + row * C + c, mask=c < C, other=0).to(tl.int32) * tl.load(b + c, mask=c < C, other=0).to(tl.int32)
    tl.store(y + row, tl.sum(s, axis=0))
""",
        launched("idot", {"N": [2, 5], "C": [40, 200]}, [out("y", INT, "N"), inp("a", "int8", "N,C", "integers(-127, 127)"), inp("b", "int8", "C", "integers(-127, 127)"), number("C")], "N", "64", {"N": 64, "C": 4096}),
        {"whole numbers in floats": [("tl.zeros((BLOCK,), tl.int32)", "0.0"), ("s += tl.load(a + row * C + c, mask=c < C, other=0).to(tl.int32) * tl.load(b + c, mask=c < C, other=0).to(tl.int32)", "s += tl.sum(tl.load(a + row * C + c, mask=c < C, other=0).to(tl.float32) * tl.load(b + c, mask=c < C, other=0).to(tl.float32), axis=0)"), ("tl.sum(s, axis=0)", "s.to(tl.int32)")]},
        {"floats within a tile": [("tl.zeros((BLOCK,), tl.int32)", "tl.program_id(1)"), ("s += tl.load(a + row * C + c, mask=c < C, other=0).to(tl.int32) * tl.load(b + c, mask=c < C, other=0).to(tl.int32)", "s += tl.sum(tl.load(a + row * C + c, mask=c < C, other=0).to(tl.float32) * tl.load(b + c, mask=c < C, other=0).to(tl.float32), axis=0).to(tl.int32)"), ("tl.sum(s, axis=0)", "s")]},
        "triton"),
    paired(
        "cells_of",
        """def cells_of(y, x, s, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    q = v // s
    q = tl.where((v % s != 0) & ((v < 0) != (s < 0)), q - 1, q)
    tl.store(y + i, q * 3 + (v - q * s), mask=i < n)
""",
        launched("cells_of", {"n": [100, 300]}, [out("y", INT), inp("x", INT, "n", "integers(-7050, 7050)"), number("s", "7"), number("n")], "ceil_div(n, 128)", "128", {"n": 1 << 16}),
        {"shifted up by a thousand cells": [("q = v // s\n    q = tl.where((v % s != 0) & ((v < 0) != (s < 0)), q - 1, q)", "q = (v + 1000 * s) // s - 1000")]},
        {"shifted up by far more": [("q = v // s\n    q = tl.where((v % s != 0) & ((v < 0) != (s < 0)), q - 1, q)", "f = v // s\n    q = f - ((f * s != v) & ((v ^ s) < 0)).to(tl.int32)")]},
        "triton"),
    paired(
        "splits",
        """def splits(y, part, count, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    s = tl.program_id(1)
    c = s * BLOCK + tl.arange(0, BLOCK)
    tl.store(part + row * 4 + s, tl.sum(tl.load(x + row * C + c, mask=c < C, other=0.0), axis=0))
    tl.debug_barrier()
    if tl.atomic_add(count + row, 1) == 3:
        tl.debug_barrier()
        v = tl.load(part + row * 4 + tl.arange(0, 4), volatile=True)
        tl.store(y + row, tl.sum(v, axis=0))
""",
        launched("splits", {"N": [2, 5], "C": [100, 256]}, [out("y", F, "N"), ("part", "inout", F, "N,4", "listed(0)"), ("count", "inout", INT, "N", "listed(0)"), inp("x", F, "N,C"), number("C")], "N", "64", {"N": 64, "C": 256}).replace('grid = ["N"]', 'grid = ["N", "4"]').replace("[dims]", 'promises = ["C <= 256"]\n[dims]', 1),
        {"a relaxed count": [("tl.atomic_add(count + row, 1) == 3", 'tl.atomic_add(count + row, 1, sem="relaxed") == 3')]},
        {"a count that releases and acquires": [("tl.atomic_add(count + row, 1) == 3", 'tl.atomic_add(count + row, 1, sem="acq_rel", scope="gpu") > 2'), ("tl.sum(v, axis=0))", "tl.sum(v + 0.0, axis=0))")]},
        "triton"),
)  # fmt: skip
