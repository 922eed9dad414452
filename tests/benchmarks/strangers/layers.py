# ruff: noqa: E501
"""Kernels of models' layers: steps of optimisers, pages, routing, packing, look-back, clusters and copies; wrong ones and twins."""

from __future__ import annotations

from .model import workload_of
from .rewrites import AT, INT, F, flat, inp, number, out, paired, rows

U8, U32 = "uint8", "uint32"
ADAMW = f"""__global__ void adamw(float *p, float *m, float *v, const float *g, float lr, float decay, float c1, float c2, int n) {{
    {AT}
    if (i >= n) return;
    float d = g[i], a = 0.9f * m[i] + 0.1f * d, b = 0.999f * v[i] + 0.001f * d * d;
    m[i] = a; v[i] = b;
    p[i] = p[i] * (1.0f - lr * decay) - lr * (a / c1) / (sqrtf(b / c2) + 1e-8f);
}}
"""
ADAMW_LINE = "p[i] = p[i] * (1.0f - lr * decay) - lr * (a / c1) / (sqrtf(b / c2) + 1e-8f);"
ADAMW_WORKLOAD = flat(
    "adamw",
    [
        ("p", "inout", F, "n"),
        ("m", "inout", F, "n"),
        ("v", "inout", F, "n", "uniform"),
        inp("g"),
        number("lr", "0.01", F),
        number("decay", "0.1", F),
        number("c1", "0.19", F),
        number("c2", "0.002", F),
        number("n"),
    ],
)
ROUTE = """__global__ void route(int *y, const int *x, int C) {
    if (threadIdx.x) return;
    const int *r = x + (size_t)blockIdx.x * C; int a = -1, b = -1;
    for (int c = 0; c < C; c++) {
        if (a < 0 || r[c] > r[a]) { b = a; a = c; } else if (b < 0 || r[c] > r[b]) b = c;
    }
    y[2 * blockIdx.x] = a; y[2 * blockIdx.x + 1] = b;
}
"""
ROUTE_WARP = """__device__ unsigned long long highest(unsigned long long v) {
    for (int k = 16; k; k /= 2) v = max(v, __shfl_xor_sync(~0u, v, k));
    return v;
}
__global__ void route(int *y, const int *x, int C) {
    const int *r = x + (size_t)blockIdx.x * C; unsigned long long first = 0, second = 0;
    for (int c = threadIdx.x; c < C; c += 32) first = max(first, (unsigned long long)((unsigned)r[c] ^ 0x80000000u) << 32 | ~(unsigned)c);
    first = highest(first);
    for (int c = threadIdx.x; c < C; c += 32) {
        unsigned long long k = (unsigned long long)((unsigned)r[c] ^ 0x80000000u) << 32 | ~(unsigned)c;
        if (OTHER) second = max(second, k);
    }
    second = highest(second);
    if (threadIdx.x == 0) { y[2 * blockIdx.x] = first ? ~(int)first : -1; y[2 * blockIdx.x + 1] = second ? ~(int)second : -1; }
}
"""
RANKS = """__global__ void ranks(int *y, const float *x, int C) {
    const float *r = x + (size_t)blockIdx.x * C;
    for (int i = threadIdx.x; i < C; i += 64) {
        int n = 0;
        for (int j = 0; j < C; j++) n += r[j] < r[i] || (r[j] == r[i] && j < i);
        y[(size_t)blockIdx.x * C + i] = n;
    }
}
"""
RANKS_TILED = """__global__ void ranks(int *y, const float *x, int C) {
    __shared__ float s[64];
    const float *r = x + (size_t)blockIdx.x * C; int t = threadIdx.x;
    for (int from = 0; from < C; from += 64) {
        int i = from + t, n = 0; float v = i < C ? r[i] : 0.0f;
        for (int at = 0; at < C; at += 64) {
            __syncthreads();
            if (at + t < C) s[t] = r[at + t];
            __syncthreads();
            for (int k = 0; k < min(64, C - at); k++) n += s[k] < v || (s[k] == v && BEFORE);
        }
        if (i < C) y[(size_t)blockIdx.x * C + i] = n;
    }
}
"""
PAGED = """__global__ void paged(float *y, const float *pool, const int *table, const int *length, int B, int D) {
    int r = blockIdx.x, many = length[r];
    for (int d = threadIdx.x; d < D; d += 64) {
        float sum = 0.0f;
        for (int s = 0; s < many; s++) sum += pool[((size_t)table[r * B + s / 16] * 16 + s % 16) * D + d];
        y[(size_t)r * D + d] = sum;
    }
}
"""
PAGED_BY_PAGE = """__global__ void paged(float *y, const float *pool, const int *table, const int *length, int B, int D) {
    int r = blockIdx.x, many = length[r], pages = (many + 15) / 16;
    for (int d = threadIdx.x; d < D; d += 64) {
        float sum = 0.0f;
        for (int p = 0; p < pages; p++) {
            const float *page = pool + (size_t)table[r * B + p] * 16 * D + d;
            int rows = p == pages - 1 ? REST : 16;
            for (int s = 0; s < rows; s++) sum += page[(size_t)s * D];
        }
        y[(size_t)r * D + d] = sum;
    }
}
"""
PACK4 = f"""__global__ void pack4(unsigned char *y, const float *x, float s, int n) {{
    {AT}
    if (i >= n) return;
    int q0 = min(max(__float2int_rn(x[2 * i] * s), -8), 7), q1 = min(max(__float2int_rn(x[2 * i + 1] * s), -8), 7);
    y[i] = (q0 & 15) | (q1 & 15) << 4;
}}
"""
MAGIC = """__device__ int nibble(float v) { return VALUE; }
""" + PACK4.replace("min(max(__float2int_rn(x[2 * i] * s), -8), 7)", "nibble(x[2 * i] * s)").replace(
    "min(max(__float2int_rn(x[2 * i + 1] * s), -8), 7)", "nibble(x[2 * i + 1] * s)"
)
FP8 = f"""#include <cuda_fp8.h>
__global__ void narrow(unsigned char *y, const float *x, float s, int n) {{
    {AT}
    if (i < n) y[i] = __nv_cvt_float_to_fp8(x[i] * s, __NV_SATFINITE, __NV_E4M3);
}}
"""
NARROW_LINE = "if (i < n) y[i] = __nv_cvt_float_to_fp8(x[i] * s, __NV_SATFINITE, __NV_E4M3);"
ROPE = """__global__ void rope(float *y, const float *x, const float *turn, int D, int R) {
    size_t o = (size_t)blockIdx.x * D; int half = R / 2;
    const float *w = turn + (size_t)blockIdx.x * R;
    for (int c = threadIdx.x; c < D; c += 32) {
        if (c >= 2 * half) { y[o + c] = x[o + c]; continue; }
        float a = x[o + c], b = x[o + (c ^ 1)], co = w[c & ~1], si = w[c | 1];
        y[o + c] = c & 1 ? a * co + b * si : a * co - b * si;
    }
}
"""
ROPE_PAIRS = """__global__ void rope(float *y, const float *x, const float *turn, int D, int R) {
    size_t o = (size_t)blockIdx.x * D; int half = R / 2;
    const float *w = turn + (size_t)blockIdx.x * R;
    for (int p = threadIdx.x; p < half; p += 32) {
        float a = x[o + 2 * p], b = x[o + 2 * p + 1], co = w[2 * p], si = w[2 * p + 1];
        y[o + 2 * p] = a * co - b * si; y[o + 2 * p + 1] = b * co + a * si;
    }
    for (int c = 2 * half + 2 * threadIdx.x; REST; c += 64) { y[o + c] = x[o + c]; LAST }
}
"""
GROUPS = """__global__ void groups(float *y, const float *x, int C) {
    __shared__ float mean, scale;
    const float *r = x + (size_t)blockIdx.x * C; int t = threadIdx.x;
    if (t == 0) {
        float m = 0.0f, q = 0.0f;
        for (int c = 0; c < C; c++) m += r[c];
        m /= C;
        for (int c = 0; c < C; c++) q += (r[c] - m) * (r[c] - m);
        mean = m; scale = rsqrtf(q / C + 1e-5f);
    }
    __syncthreads();
    for (int c = t; c < C; c += 64) y[(size_t)blockIdx.x * C + c] = (r[c] - mean) * scale;
}
"""
GROUPS_MERGED = """__global__ void groups(float *y, const float *x, int C) {
    __shared__ float ms[64], qs[64]; __shared__ int ns[64];
    const float *r = x + (size_t)blockIdx.x * C; int t = threadIdx.x, n = 0; float m = 0.0f, q = 0.0f;
    for (int c = t; c < C; c += 64) { float d = r[c] - m; m += d / ++n; q += d * (r[c] - m); }
    ms[t] = m; qs[t] = q; ns[t] = n;
    __syncthreads();
    for (int k = 32; k; k /= 2) {
        if (t < k) {
            int na = ns[t], nb = ns[t + k], all = na + nb; float d = ms[t + k] - ms[t];
            MERGE
            ns[t] = all;
        }
        __syncthreads();
    }
    float mean = ms[0], scale = rsqrtf(qs[0] / C + 1e-5f);
    for (int c = t; c < C; c += 64) y[(size_t)blockIdx.x * C + c] = (r[c] - mean) * scale;
}
"""
MERGE = "ms[t] += d * nb / all; qs[t] += qs[t + k] + d * d * na * nb / all;"
SEGMENTS = f"""__global__ void segments(float *y, const int *key, const float *x, int n) {{
    {AT}
    for (int e = 4 * i; e < min(4 * i + 4, n); e++) atomicAdd(&y[key[e]], x[e]);
}}
"""
SEGMENTS_RUNS = """__global__ void segments(float *y, const int *key, const float *x, int n) {
    int at = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (at >= n) return;
    int now = key[at]; float s = x[at];
    for (int e = at + 1; e < min(at + 4, n); e++) {
        if (key[e] == now) { s += x[e]; continue; }
        FLUSH
        now = key[e]; s = x[e];
    }
    FLUSH
}
"""
RUNNING = f"""__global__ void running(int *y, const int *x, int n) {{
    {AT}
    if (i >= n) return;
    int s = 0;
    for (int j = 0; j <= i; j++) s += x[j];
    y[i] = s;
}}
"""
LOOK_BACK = """__device__ unsigned long long state[1 << 16]; __device__ unsigned ticket, ended;
__global__ void running(int *y, const int *x, int n) {
    __shared__ int s[128]; __shared__ int block, before;
    int t = threadIdx.x;
    if (t == 0) block = atomicAdd(&ticket, 1u);
    __syncthreads();
    int i = block * 128 + t;
    s[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int k = 1; k < 128; k *= 2) {
        int v = t >= k ? s[t - k] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    if (t == 0) {
        int all = s[127], sum = 0;
        atomicExch(&state[block], 1ull << 32 | PACKED(all));
        for (int j = block - 1; j >= 0;) {
            unsigned long long w = atomicAdd(&state[j], 0ull); unsigned kind = w >> 32;
            if (kind == 0) continue;
            sum += (int)w; j--;
            if (kind == 2) break;
        }
        atomicExch(&state[block], 2ull << 32 | PACKED(sum + all));
        before = sum;
    }
    __syncthreads();
    if (i < n) y[i] = before + s[t];
    if (t == 0) {
        __threadfence();
        if (atomicAdd(&ended, 1u) == gridDim.x - 1) {
            for (int j = 0; j < gridDim.x; j++) atomicExch(&state[j], 0ull);
            atomicExch(&ticket, 0u); atomicExch(&ended, 0u);
        }
    }
}
"""
SIGNS = f"""__global__ void signs(unsigned *y, const float *x, int n) {{
    {AT}
    if (i % 32 || i >= n) return;
    unsigned w = 0;
    for (int k = 0; k < 32 && i + k < n; k++) w |= (x[i + k] < 0.0f ? 1u : 0u) << k;
    y[i / 32] = w;
}}
"""
SIGNS_BALLOT = f"""__global__ void signs(unsigned *y, const float *x, int n) {{
    {AT}
    unsigned w = __ballot_sync(~0u, i < n && BIT);
    if (i % 32 == 0 && i < n) y[i / 32] = w;
}}
"""
PHILOX = f"""__device__ unsigned philox(unsigned c0, unsigned seed, int which) {{
    unsigned c[4] = {{c0, 0u, 0u, 0u}}, k0 = seed, k1 = 0u;
    for (int r = 0; r < 10; r++) {{
        unsigned h0 = __umulhi(0xD2511F53u, c[0]), l0 = 0xD2511F53u * c[0], h1 = __umulhi(0xCD9E8D57u, c[2]), l1 = 0xCD9E8D57u * c[2];
        c[0] = h1 ^ c[1] ^ k0; c[1] = l1; c[2] = h0 ^ c[3] ^ k1; c[3] = l0;
        k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
    }}
    return which == 0 ? c[0] : which == 1 ? c[1] : which == 2 ? c[2] : c[3];
}}
__global__ void dropped(float *y, const float *x, float p, unsigned seed, int n) {{
    {AT}
    if (i >= n) return;
    unsigned r = philox(i / 4, seed, i % 4);
    y[i] = (r >> 8) * 5.9604644775390625e-8f < p ? x[i] : 0.0f;
}}
"""
BAG = """__global__ void bag(float *y, const float *table, const int *index, int L, int V, int D, int pad) {
    int r = blockIdx.x;
    for (int d = threadIdx.x; d < D; d += 32) {
        float sum = 0.0f; int many = 0;
        for (int l = 0; l < L; l++) { int k = index[r * L + l]; if (k != pad) { sum += table[(size_t)k * D + d]; many++; } }
        y[(size_t)r * D + d] = many ? sum / many : 0.0f;
    }
}
"""
GHOSTS = """__global__ void smooth(float *y, const float *x, int H, int W) {
    int c = blockIdx.x * 16 + threadIdx.x % 16, r = blockIdx.y * 16 + threadIdx.x / 16;
    if (r >= H || c >= W) return;
    float up = x[max(r - 1, 0) * W + c], down = x[min(r + 1, H - 1) * W + c], left = x[r * W + max(c - 1, 0)], right = x[r * W + min(c + 1, W - 1)];
    y[r * W + c] = x[r * W + c] + 0.25f * (up + down + left + right);
}
"""
GHOSTS_TILED = """__global__ void smooth(float *y, const float *x, int H, int W) {
    __shared__ float s[18][18];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16, c = blockIdx.x * 16 + tx, r = blockIdx.y * 16 + ty;
    int cc = min(c, W - 1), rr = min(r, H - 1);
    s[ty + 1][tx + 1] = x[rr * W + cc];
    if (tx == 0) s[ty + 1][0] = x[rr * W + max(c - 1, 0)];
    if (tx == 15) s[ty + 1][17] = x[rr * W + min(c + 1, W - 1)];
    if (ty == 0) s[0][tx + 1] = x[max(r - 1, 0) * W + cc];
    if (ty == 15) s[17][tx + 1] = x[BELOW * W + cc];
    __syncthreads();
    if (r >= H || c >= W) return;
    y[r * W + c] = s[ty + 1][tx + 1] + 0.25f * (s[ty][tx + 1] + s[ty + 2][tx + 1] + s[ty + 1][tx] + s[ty + 1][tx + 2]);
}
"""
SMALL = """__global__ void small(float *y, const float *a, const float *b, int S, int B) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i >= 4 * B) return;
    const float *p = a + (size_t)(i / 4) * S + i % 4 * 4, *q = b + (size_t)(i / 4) * 16; float *o = y + (size_t)(i / 4) * 16 + i % 4 * 4;
    for (int c = 0; c < 4; c++) { float s = 0.0f; for (int k = 0; k < 4; k++) s += p[k] * q[4 * k + c]; o[c] = s; }
}
"""
SMALL_FOUR = """__global__ void small(float *y, const float *a, const float *b, int S, int B) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i >= 4 * B) return;
    const float *p = a + (size_t)(i / 4) * S + i % 4 * 4, *q = b + (size_t)(i / 4) * 16; float *o = y + (size_t)(i / 4) * 16 + i % 4 * 4;
    float4 v = WHOLE ? *(const float4 *)p : make_float4(p[0], p[1], p[2], p[3]);
    for (int c = 0; c < 4; c++) o[c] = v.x * q[c] + v.y * q[4 + c] + v.z * q[8 + c] + v.w * q[12 + c];
}
"""
HALVED = """__global__ void halved(float *y, const float *x, int C) {
    const float *r = x + (size_t)(blockIdx.x / 2) * C; float s = 0.0f;
    if (blockIdx.x % 2) return;
    for (int c = threadIdx.x; c < C; c += 32) s += r[c];
    for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);
    if (threadIdx.x == 0) y[blockIdx.x / 2] = s;
}
"""
HALVED_CLUSTER = """#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(2, 1, 1) halved(float *y, const float *x, int C) {
    __shared__ float part;
    cg::cluster_group cluster = cg::this_cluster();
    const float *r = x + (size_t)(blockIdx.x / 2) * C; float s = 0.0f; unsigned rank = cluster.block_rank();
    for (int c = threadIdx.x + 32 * rank; c < C; c += 64) s += r[c];
    for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);
    if (threadIdx.x == 0) part = s;
    cluster.sync();
    if (rank == 0 && threadIdx.x == 0) y[blockIdx.x / 2] = s + *cluster.map_shared_rank(&part, 1);
    END
}
"""
COUNT = f"""__global__ void count(int *y, const float *x, int n) {{
    {AT}
    if (i < n && x[i] > 0.5f) atomicAdd(y, 1);
}}
"""
COUNT_GROUP = f"""#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void count(int *y, const float *x, int n) {{
    {AT}
    if (i >= n || !(x[i] > 0.5f)) return;
    cg::coalesced_group g = cg::coalesced_threads();
    if (LEADER) atomicAdd(y, (int)g.size());
}}
"""
RING = """#include <cuda_pipeline.h>
__global__ void ring(float *y, const float *x, int C) {
    __shared__ float s[3][64];
    int t = threadIdx.x, tiles = (C + 63) / 64; const float *r = x + (size_t)blockIdx.x * C;
    float sum = 0.0f;
    for (int k = 0; k < 2; k++) {
        if (k * 64 + t < C) __pipeline_memcpy_async(&s[k][t], r + k * 64 + t, 4); else s[k][t] = 0.0f;
        __pipeline_commit();
    }
    for (int k = 0; k < tiles; k++) {
        EARLY
        __pipeline_wait_prior(LEFT);
        __syncthreads();
        LATE
        sum += s[k % 3][63 - t] * (k + 1);
    }
    y[(size_t)blockIdx.x * 64 + t] = sum;
}
"""
REFILL = """int c = (k + 2) * 64 + t, to = (k + 2) % 3;
        if (c < C) __pipeline_memcpy_async(&s[to][t], r + c, 4); else s[to][t] = 0.0f;
        __pipeline_commit();"""
TILES = """__global__ void ring(float *y, const float *x, int C) {
    int t = threadIdx.x; const float *r = x + (size_t)blockIdx.x * C; float sum = 0.0f;
    for (int k = 0; k < (C + 63) / 64; k++) { int c = k * 64 + 63 - t; sum += (c < C ? r[c] : 0.0f) * (k + 1); }
    y[(size_t)blockIdx.x * 64 + t] = sum;
}
"""
SWISH = f"""__global__ void swish(float *y, const float *x, int n) {{
    {AT}
    if (i < n) y[i] = x[i] / (1.0f + expf(-x[i]));
}}
"""
SWISH_LINE = "if (i < n) y[i] = x[i] / (1.0f + expf(-x[i]));"
LINEAR = f"""__global__ void linear(float *y, const float *x, int n) {{
    {AT}
    if (i < n) y[i] = 3.0f * x[i] - 0.5f;
}}
"""
NORMS = """__global__ void norms(float *y, const float *x, int N, int C) {
    for (int r = 2 * blockIdx.x; r < min(2 * (int)blockIdx.x + 2, N); r++) {
        float s = 0.0f;
        for (int c = threadIdx.x; c < C; c += 32) s += x[(size_t)r * C + c] * x[(size_t)r * C + c];
        for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);
        if (threadIdx.x == 0) y[r] = s;
    }
}
"""
NORMS_KEPT = """__global__ void norms(float *y, const float *x, int N, int C) {
    float s = 0.0f;
    for (int r = 2 * blockIdx.x; r < min(2 * (int)blockIdx.x + 2, N); r++) {
        bool alike = r & 1;
        for (int c = threadIdx.x; c < MANY; c += 32) alike = alike && x[(size_t)r * C + c] == x[(size_t)(r - 1) * C + c];
        if (!__all_sync(~0u, alike)) {
            s = 0.0f;
            for (int c = threadIdx.x; c < C; c += 32) s += x[(size_t)r * C + c] * x[(size_t)r * C + c];
            for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);
        }
        if (threadIdx.x == 0) y[r] = s;
    }
}
"""
CAPPED = f"""__global__ void capped(float *y, const float *x, float cap, int n) {{
    {AT}
    if (i < n) y[i] = cap > 0.0f ? cap * tanhf(x[i] / cap) : x[i];
}}
"""
ORDER = """__global__ void order(int *y, const int *x, int C) {
    const int *r = x + (size_t)blockIdx.x * C; int t = threadIdx.x;
    if (t >= C) return;
    int n = 0;
    for (int j = 0; j < C; j++) n += r[j] < r[t] || (r[j] == r[t] && j < t);
    y[(size_t)blockIdx.x * C + n] = t;
}
"""
ORDER_BITONIC = """__global__ void order(int *y, const int *x, int C) {
    __shared__ KEY s[64];
    int t = threadIdx.x;
    s[t] = t < C ? MAKE(x[(size_t)blockIdx.x * C + t]) : MOST;
    for (int k = 2; k <= 64; k *= 2) for (int j = k / 2; j; j /= 2) {
        __syncthreads();
        int o = t ^ j;
        KEY a = s[t], b = s[o];
        __syncthreads();
        s[t] = ((t & k) == 0) == (t < o) ? min(a, b) : max(a, b);
    }
    __syncthreads();
    if (t < C) y[(size_t)blockIdx.x * C + t] = (int)(s[t] & 63);
}
"""
OWNER = """__global__ void owner(int *y, const int *start, int B, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= n) return;
    int s = 0;
    while (s + 1 < B && start[s + 1] <= i) s++;
    y[i] = s;
}
"""
OWNER_SEARCH = """__global__ void owner(int *y, const int *start, int B, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= n) return;
    int lo = 0, hi = B - 1;
    while (lo < hi) { int mid = (lo + hi + 1) / 2; STEP }
    y[i] = lo;
}
"""
MOST = """__global__ void most(float *y, const float *x, int C) {
    if (threadIdx.x) return;
    float m = -INFINITY;
    for (int c = 0; c < C; c++) m = fmaxf(m, x[(size_t)blockIdx.x * C + c]);
    y[blockIdx.x] = m;
}
"""
MOST_BITS = """__device__ void raise_to(float *at, float v) { RAISE }
__global__ void most(float *y, const float *x, int C) {
    __shared__ float m;
    if (threadIdx.x == 0) m = -INFINITY;
    __syncthreads();
    for (int c = threadIdx.x; c < C; c += 32) { float v = x[(size_t)blockIdx.x * C + c]; if (v == v) raise_to(&m, v); }
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = m;
}
"""
RESIZE = """__global__ void resize(float *y, const float *x, int H, int O) {
    const float *r = x + (size_t)blockIdx.x * H;
    for (int o = threadIdx.x; o < O; o += 64) {
        float at = O > 1 ? o * ((H - 1) / (float)(O - 1)) : 0.0f;
        int lo = min((int)at, H - 1), hi = min(lo + 1, H - 1); float w = at - lo;
        y[(size_t)blockIdx.x * O + o] = r[lo] * (1.0f - w) + r[hi] * w;
    }
}
"""
PAIRS = (
    paired(
        "adamw", ADAMW, ADAMW_WORKLOAD,
        {"the decay takes the step with it": [(ADAMW_LINE, "p[i] = (p[i] - lr * (a / c1) / (sqrtf(b / c2) + 1e-8f)) * (1.0f - lr * decay);")]},
        {"the decay by a fused product": [(ADAMW_LINE, "p[i] = fmaf(-lr * decay, p[i], p[i]) - lr * (a / c1) / (sqrtf(b / c2) + 1e-8f);")]}),
    paired(
        "adamw", ADAMW, ADAMW_WORKLOAD,
        {"a cap that rate and decay reach together": [("1.0f - lr * decay", "1.0f - fminf(lr * decay, 0.25f)")]},
        {"a cap that nothing reaches": [("1.0f - lr * decay", "1.0f - fminf(lr * decay, INFINITY)")]}),
    paired(
        "route", ROUTE, rows("route", [out("y", INT, "N,2"), inp("x", INT, "N,C", "integers"), number("C")], block=32),
        {"a second that must be less": ROUTE_WARP.replace("OTHER", "(k >> 32) != (first >> 32)")},
        {"a second of another place": ROUTE_WARP.replace("OTHER", "k != first")}),
    paired(
        "ranks", RANKS, rows("ranks", [out("y", INT, "N,C"), inp("x", F, "N,C"), number("C")]).replace("C = 1024", "C = 300"),
        {"a tie is asked within its tile": RANKS_TILED.replace("BEFORE", "k < t")},
        {"a tie is asked within the row": RANKS_TILED.replace("BEFORE", "at + k < i")}),
    paired(
        "paged", PAGED,
        workload_of("paged", {"N": [3, 5], "B": [2, 4], "P": [8, 12], "D": [20, 64]}, [out("y", F, "N,D"), inp("pool", F, "P,16,D"), inp("table", INT, "N,B", "integers(0, P)"), inp("length", INT, "N", "integers(0, 16 * B + 1)"), number("B"), number("D")], "N", 64, {"N": 32, "B": 16, "P": 64, "D": 64}),
        {"a last page that is full is empty": PAGED_BY_PAGE.replace("REST", "many % 16")},
        {"a last page that is full": PAGED_BY_PAGE.replace("REST", "many - 16 * p")}),
    paired(
        "pack4", PACK4, flat("pack4", [out("y", U8), inp("x", F, "2 * n"), number("s", "3.0", F), number("n")]),
        {"no number becomes minus eight": MAGIC.replace("VALUE", "__float_as_int(fminf(fmaxf(v, -8.0f), 7.0f) + 12582912.0f) - 0x4b400000")},
        {"no number stays none": MAGIC.replace("VALUE", "v == v ? __float_as_int(fminf(fmaxf(v, -8.0f), 7.0f) + 12582912.0f) - 0x4b400000 : 0")}),
    paired(
        "narrow", FP8, flat("narrow", [out("y", U8), inp("x"), number("s", "3.0", F), number("n")]),
        {"a clamp that drops what is no number": [(NARROW_LINE, "if (i < n) y[i] = __nv_cvt_float_to_fp8(fminf(fmaxf(x[i] * s, -448.0f), 448.0f), __NV_SATFINITE, __NV_E4M3);")]},
        {"a clamp that keeps what is no number": [(NARROW_LINE, "float v = i < n ? x[i] * s : 0.0f;\n    if (i < n) y[i] = __nv_cvt_float_to_fp8(v > 448.0f ? 448.0f : v < -448.0f ? -448.0f : v, __NV_SATFINITE, __NV_E4M3);")]}),
    paired(
        "rope", ROPE,
        workload_of("rope", {"T": [3, 6], "D": [24, 40], "R": [8, 16]}, [out("y", F, "T,D"), inp("x", F, "T,D"), inp("turn", F, "T,R", "uniform(-1, 1)"), number("D"), number("R")], "T", 32, {"T": 64, "D": 128, "R": 64}).replace("[dims]", 'promises = ["R <= D"]\n[dims]', 1),
        {"an odd rest loses its last": ROPE_PAIRS.replace("REST", "c + 1 < D").replace("LAST", "y[o + c + 1] = x[o + c + 1];")},
        {"an odd rest keeps its last": ROPE_PAIRS.replace("REST", "c < D").replace("LAST", "if (c + 1 < D) y[o + c + 1] = x[o + c + 1];")}),
    paired(
        "groups", GROUPS, rows("groups", [out("y", F, "N,C"), inp("x", F, "N,C"), number("C")], C=(128, 200)),
        {"two empty shares by zero": GROUPS_MERGED.replace("MERGE", MERGE)},
        {"empty shares are left out": GROUPS_MERGED.replace("MERGE", "if (nb) { " + MERGE + " }")}),
    paired(
        "segments", SEGMENTS,
        flat("segments", [("y", "inout", F, "16"), inp("key", INT, "n", "integers(0, 16)"), inp("x"), number("n")], n=(96, 500), big=1 << 15),
        {"a sum that is no number is not added": SEGMENTS_RUNS.replace("FLUSH", "if (s > 0.0f || s < 0.0f) atomicAdd(&y[now], s);")},
        {"sums of runs": SEGMENTS_RUNS.replace("FLUSH", "atomicAdd(&y[now], s);")}),
    paired(
        "running", RUNNING, flat("running", [out("y", INT), inp("x", INT, "n", "integers(-99, 99)"), number("n")], n=(300, 700), big=2048),
        {"a sign that covers the state": LOOK_BACK.replace("PACKED(all)", "(long long)all").replace("PACKED(sum + all)", "(long long)(sum + all)")},
        {"a sum without its sign": LOOK_BACK.replace("PACKED(all)", "(unsigned)all").replace("PACKED(sum + all)", "(unsigned)(sum + all)")}),
    paired(
        "signs", SIGNS, flat("signs", [out("y", U32, "(n + 31) // 32"), inp("x"), number("n")]),
        {"a sign of zero": SIGNS_BALLOT.replace("BIT", "(__float_as_uint(x[i]) >> 31)")},
        {"signs by a ballot": SIGNS_BALLOT.replace("BIT", "x[i] < 0.0f")}),
    paired(
        "dropped", PHILOX, flat("dropped", [out("y"), inp("x"), number("p", "0.7", F), number("seed", "1234", U32), number("n")]),
        {"a threshold in sixteen bits": [("(r >> 8) * 5.9604644775390625e-8f < p", "(r >> 16) < (unsigned)(p * 65536.0f)")]},
        {"a threshold in whole numbers": [("(r >> 8) * 5.9604644775390625e-8f < p", "(float)(r >> 8) < ceilf(p * 16777216.0f)")]}),
    paired(
        "bag", BAG,
        workload_of("bag", {"N": [3, 6], "L": [5, 12], "V": [9, 20], "D": [16, 40]}, [out("y", F, "N,D"), inp("table", F, "V,D"), inp("index", INT, "N,L", "integers(0, V)"), number("L"), number("V"), number("D"), number("pad", "0")], "N", 32, {"N": 64, "L": 32, "V": 500, "D": 64}),
        {"no padding is the last row": [("int r = blockIdx.x;", "int r = blockIdx.x; if (pad < 0) pad += V;")]},
        {"no padding is no row": [("int r = blockIdx.x;", "int r = blockIdx.x; if (pad < 0) pad = -1;")]}),
    paired(
        "smooth", GHOSTS,
        workload_of("smooth", {"H": [20, 40], "W": [24, 50]}, [out("y", F, "H,W"), inp("x", F, "H,W"), number("H"), number("W")], 'ceil_div(W, 16)", "ceil_div(H, 16)', 256, {"H": 128, "W": 128}),
        {"the ghost row below wraps where a tile ends": GHOSTS_TILED.replace("BELOW", "((r + 1) % H)")},
        {"the ghost row below stays": GHOSTS_TILED.replace("BELOW", "min(r + 1, H - 1)")}),
    paired(
        "small", SMALL,
        workload_of("small", {"B": [10, 40], "S": [16, 24]}, [out("y", F, "B,16"), inp("a", F, "B,S"), inp("b", F, "B,16"), number("S"), number("B")], "ceil_div(4 * B, 64)", 64, {"B": 512, "S": 16}).replace("[dims]", 'promises = ["S >= 16"]\n[dims]', 1),
        {"four at once at any distance": SMALL_FOUR.replace("WHOLE", "((size_t)a & 15) == 0")},
        {"four at once where they lie so": SMALL_FOUR.replace("WHOLE", "((size_t)p & 15) == 0")}),
    paired(
        "halved", HALVED, rows("halved", [out("y", F, "N"), inp("x", F, "N,C"), number("C")], block=32, grid="2 * N"),
        {"the other block may have left": HALVED_CLUSTER.replace("END", "")},
        {"the other block waits": HALVED_CLUSTER.replace("END", "cluster.sync();")}),
    paired(
        "count", COUNT, flat("count", [("y", "inout", INT, "1", "integers(0, 9)"), inp("x"), number("n")]),
        {"the first lane of the warp leads": COUNT_GROUP.replace("LEADER", "threadIdx.x % 32 == 0")},
        {"the first lane of the group leads": COUNT_GROUP.replace("LEADER", "g.thread_rank() == 0")}),
    paired(
        "ring", TILES, rows("ring", [out("y", F, "N,64"), inp("x", F, "N,C"), number("C")], C=(250, 400)),
        {"a slot is filled again before the barrier": RING.replace("EARLY", REFILL).replace("LATE", "").replace("LEFT", "2")},
        {"a slot is filled again behind the barrier": RING.replace("EARLY", "").replace("LATE", REFILL).replace("LEFT", "1")}),
    paired(
        "swish", SWISH, flat("swish", [out("y"), inp("x"), number("n")]),
        {"a result that is a number is done": [(SWISH_LINE, "if (i < n && !(fabsf(y[i]) < 1e30f)) y[i] = x[i] / (1.0f + expf(-x[i]));")]},
        {"a result that is made in its place": [(SWISH_LINE, "if (i < n) { float v = x[i]; y[i] = 1.0f + expf(-v); y[i] = v / y[i]; }")]}),
    paired(
        "linear", LINEAR, flat("linear", [out("y"), inp("x"), number("n")]),
        {"an index that went through a float": [(AT, "int i = (int)(blockIdx.x * 128.0f + threadIdx.x);")]},
        {"an index that went through a double": [(AT, "int i = (int)(blockIdx.x * 128.0 + threadIdx.x);")]}),
    paired(
        "norms", NORMS,
        workload_of("norms", {"N": [4, 7], "C": [40, 200]}, [out("y", F, "N"), inp("x", F, "N,C"), number("N"), number("C")], "ceil_div(N, 2)", 32, {"N": 128, "C": 1024}),
        {"rows alike in their first four": NORMS_KEPT.replace("MANY", "min(4, C)")},
        {"rows alike in all": NORMS_KEPT.replace("MANY", "C")}),
    paired(
        "capped", CAPPED, flat("capped", [out("y"), inp("x"), number("cap", "30.0", F), number("n")]),
        {"a cap below zero caps": [("cap > 0.0f", "cap != 0.0f")]},
        {"no cap where it is not above zero": [("cap > 0.0f ? cap * tanhf(x[i] / cap) : x[i]", "cap <= 0.0f || cap != cap ? x[i] : tanhf(x[i] / cap) * cap")]}),
    paired(
        "order", ORDER, rows("order", [out("y", INT, "N,C"), inp("x", INT, "N,C", "integers"), number("C")], C=(40, 64)).replace("[dims]", 'promises = ["C <= 64"]\n[dims]', 1).replace("C = 1024", "C = 64"),
        {"a key and its place in one word": ORDER_BITONIC.replace("KEY", "int").replace("MAKE(x[(size_t)blockIdx.x * C + t])", "(x[(size_t)blockIdx.x * C + t] * 64 + t)").replace("MOST", "0x7fffffff")},
        {"a key and its place in two words": ORDER_BITONIC.replace("KEY", "long long").replace("MAKE(x[(size_t)blockIdx.x * C + t])", "(x[(size_t)blockIdx.x * C + t] * 64ll + t)").replace("MOST", "0x7fffffffffffffffll")}),
    paired(
        "owner", OWNER,
        workload_of("owner", {"B": [3, 9], "n": [60, 300]}, [out("y", INT), inp("start", INT, "B", "offsets(n)"), number("B"), number("n")], "ceil_div(n, 128)", 128, {"B": 64, "n": 1 << 14}),
        {"a search that stops at a start": OWNER_SEARCH.replace("STEP", "if (start[mid] == i) { lo = mid; break; } if (start[mid] < i) lo = mid; else hi = mid - 1;")},
        {"a search that goes on behind a start": OWNER_SEARCH.replace("STEP", "if (start[mid] <= i) lo = mid; else hi = mid - 1;")}),
    paired(
        "most", MOST, rows("most", [out("y", F, "N"), inp("x", F, "N,C"), number("C")], block=32),
        {"numbers below zero by their bits": MOST_BITS.replace("RAISE", "atomicMax((int *)at, __float_as_int(v));")},
        {"numbers below zero the other way": MOST_BITS.replace("RAISE", "if (v >= 0.0f) atomicMax((int *)at, __float_as_int(v + 0.0f)); else atomicMin((unsigned *)at, __float_as_uint(v));")}),
    paired(
        "resize", RESIZE,
        workload_of("resize", {"N": [2, 4], "H": [7, 20], "O": [13, 40]}, [out("y", F, "N,O"), inp("x", F, "N,H"), number("H"), number("O")], "N", 64, {"N": 64, "H": 256, "O": 512}),
        {"one place by zero": [("O > 1 ? o * ((H - 1) / (float)(O - 1)) : 0.0f", "o * ((H - 1) / (float)(O - 1))")]},
        {"one place by one": [("O > 1 ? o * ((H - 1) / (float)(O - 1)) : 0.0f", "o * ((H - 1) / (float)max(O - 1, 1))")]}),
)  # fmt: skip
