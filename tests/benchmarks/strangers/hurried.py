# ruff: noqa: E501
"""What hurry makes of a kernel: rare branches, capacities, ties, tails, state, precision; and careful rewrites of the same."""

from __future__ import annotations

from .kinds.blocks import launched
from .model import workload_of
from .rewrites import AT, INT, F, H, flat, inp, number, out, paired, rows

SOFT = """__global__ void soft(float *y, const float *x, int C) {
    int t = threadIdx.x; const float *r = x + (size_t)blockIdx.x * C;
    float m = -INFINITY;
    for (int c = t; c < C; c += 32) m = fmaxf(m, r[c]);
    for (int k = 16; k; k /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, k));
    float s = 0.0f;
    for (int c = t; c < C; c += 32) s += expf(r[c] - m);
    for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);
    if (t == 0) y[blockIdx.x] = m + logf(s);
}
"""
LAZY = """__global__ void soft(float *y, const float *x, int C) {
    int t = threadIdx.x; const float *r = x + (size_t)blockIdx.x * C;
    float m = -INFINITY, s = 0.0f;
    for (int c = t; c < C; c += 32) {
        float v = r[c];
        if (s == 0.0f || v > m + SLACK) { if (s != 0.0f) s *= expf(m - v); m = v; }
        s += expf(v - m);
    }
    float top = m;
    for (int k = 16; k; k /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, k));
    s = m == top || s == 0.0f ? s : s * expf(m - top);
    for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);
    if (t == 0) y[blockIdx.x] = top + logf(s);
}
"""
NEAREST = f"""__global__ void nearest(int *y, const float *x, const float *z, int n, int K) {{
    {AT}
    if (i >= n) return;
    float best = INFINITY; int at = 0;
    for (int k = 0; k < K; k++) {{
        float a = x[2 * i] - z[2 * k], b = x[2 * i + 1] - z[2 * k + 1], d = a * a + b * b;
        if (d < best) {{ best = d; at = k; }}
    }}
    y[i] = at;
}}
"""
LOOP = NEAREST[NEAREST.index("    float best") : NEAREST.index("    y[i] = at")]
KEYED = """    TYPE key = ~(TYPE)0;
    for (int k = 0; k < K; k++) {
        float a = x[2 * i] - z[2 * k], b = x[2 * i + 1] - z[2 * k + 1], d = a * a + b * b;
        if (!(d < INFINITY)) d = INFINITY;
        key = min(key, PACK);
    }
    int at = key & MASK; if (at >= K) at = 0;
"""
DEAL = """__global__ void deal(float *y, const float *x, int n) {
    for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) y[i] = sqrtf(fabsf(x[i])) + 1.0f;
}
"""
DEALT = """__device__ unsigned ticket, left;
__global__ void deal(float *y, const float *x, int n) {
    __shared__ unsigned tile;
    for (;;) {
        if (threadIdx.x == 0) tile = atomicAdd(&ticket, 1u);
        __syncthreads();
        unsigned mine = tile;
        __syncthreads();
        if (mine * 64u >= (unsigned)n) break;
        int i = mine * 64 + threadIdx.x;
        if (i < n) y[i] = sqrtf(fabsf(x[i])) + 1.0f;
    }
    if (threadIdx.x == 0) { DONE }
}
"""
TURN = """__global__ void turn(float *y, const float *x, int R, int C) {
    int c0 = blockIdx.x * 32, r0 = blockIdx.y * 32, lane = threadIdx.x % 32, w = threadIdx.x / 32;
    for (int r = w; r < 32; r += 4) if (r0 + r < R && c0 + lane < C) y[(size_t)(c0 + lane) * R + r0 + r] = x[(size_t)(r0 + r) * C + c0 + lane];
}
"""
TILE = """__global__ void turn(float *y, const float *x, int R, int C) {
    __shared__ float s[32][33];
    int c0 = blockIdx.x * 32, r0 = blockIdx.y * 32, lane = threadIdx.x % 32, w = threadIdx.x / 32;
    for (int r = w; r < 32; r += 4) if (r0 + r < R && c0 + lane < C) s[r][lane] = x[(size_t)(r0 + r) * C + c0 + lane];
    WAIT
    for (int c = w; c < 32; c += 4) if (c0 + c < C && r0 + lane < R) y[(size_t)(c0 + c) * R + r0 + lane] = s[lane][c];
}
"""
DOTS = """__global__ void dots(float *y, const float *x, const float *v, int C) {
    int t = threadIdx.x; float s = 0.0f;
    for (int c = t; c < C; c += 128) s += x[(size_t)blockIdx.x * C + c] * v[c];
    __shared__ float p[128];
    p[t] = s;
    __syncthreads();
    for (int k = 64; k; k /= 2) { if (t < k) p[t] += p[t + k]; __syncthreads(); }
    if (t == 0) y[blockIdx.x] = p[0];
}
"""
ATOMIC = """__global__ void dots(float *y, const float *x, const float *v, int C) {
    int t = threadIdx.x; float s = 0.0f;
    __shared__ float sum;
    ZERO
    for (int c = t; c < C; c += 128) s += x[(size_t)blockIdx.x * C + c] * v[c];
    for (int k = 16; k; k /= 2) s += __shfl_down_sync(~0u, s, k);
    if (t % 32 == 0) atomicAdd(&sum, s);
    __syncthreads();
    if (t == 0) y[blockIdx.x] = sum;
}
"""
AHEAD = """__global__ void smooth(float *y, const float *x, int C) {
    const float *r = x + (size_t)blockIdx.x * C; float *o = y + (size_t)blockIdx.x * C;
    int c = threadIdx.x; float next = c < C ? r[c] : 0.0f;
    for (; c < C; c += 64) {
        float now = next;
        next = LOAD;
        o[c] = now * (1.0f - now);
    }
}
"""
WMMA = """#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
__global__ void mul(float *c, const __half *a, const __half *b, int M, int N, int K) {
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    int r = blockIdx.y * 16, q = blockIdx.x * 16;
    BEGIN
    for (int k = 0; k < K; k += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> l;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> e;
        wmma::load_matrix_sync(l, a + (size_t)r * K + k, K);
        wmma::load_matrix_sync(e, b + (size_t)k * N + q, N);
        STEP
    }
    wmma::store_matrix_sync(c + (size_t)r * N + q, sum, N, wmma::mem_row_major);
}
"""
HALVES = """wmma::fragment<wmma::accumulator, 16, 16, 16, __half> part;"""
LEAKY = """template <typename scalar_t>
__device__ __forceinline__ void leaky_relu(scalar_t *__restrict__ out, const scalar_t *__restrict__ in, scalar_t slope, long long n) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { scalar_t v = in[i]; out[i] = v > scalar_t(0) ? v : v * slope; }
}
extern "C" __global__ void leaky(float *out, const float *in, float slope, long long n) { leaky_relu<float>(out, in, slope, n); }
"""
SEEN = """__global__ void seen(int *y, const int *k, int n) {
    int t = threadIdx.x, i = blockIdx.x * 64 + t, e = min(n - blockIdx.x * 64, 64);
    __shared__ int key[64];
    if (t < e) key[t] = k[i];
    __syncthreads();
    if (t >= e) return;
    int c = 0;
    for (int j = 0; j < e; j++) c += key[j] == key[t];
    y[i] = c;
}
"""
PROBED = """__global__ void seen(int *y, const int *k, int n) {
    int t = threadIdx.x, i = blockIdx.x * 64 + t, e = min(n - blockIdx.x * 64, 64);
    __shared__ int slot[128], many[128];
    for (int j = t; j < 128; j += 64) { slot[j] = -1; many[j] = 0; }
    __syncthreads();
    int mine = -1;
    if (t < e) {
        int v = k[i]; unsigned h = ((unsigned)v * 2654435761u) >> 25;
        for (int p = 0; p < PROBES; p++, h = (h + 1) & 127) {
            int was = atomicCAS(&slot[h], -1, v);
            if (was == -1 || was == v) { atomicAdd(&many[h], 1); mine = h; break; }
        }
    }
    __syncthreads();
    if (t < e) y[i] = mine < 0 ? 1 : many[mine];
}
"""
RING = """__global__ void ring(float *y, const float *x, int C) {
    __shared__ float s[2][64];
    int t = threadIdx.x; const float *r = x + (size_t)blockIdx.x * C;
    float sum = 0.0f;
    if (t < C) s[0][t] = r[t];
    for (int at = 0, b = 0; at < C; at += 64, b ^= 1) {
        FIRST
        if (at + 64 + t < C) s[b ^ 1][t] = r[at + 64 + t];
        SECOND
        int e = min(C - at, 64);
        for (int k = 0; k < e; k++) sum += s[b][k] * (k == t ? 2.0f : 1.0f);
    }
    y[(size_t)blockIdx.x * 64 + t] = sum;
}
"""
PAIRS = (
    paired(
        "soft", SOFT, rows("soft", [out("y", F, "N"), inp("x", F, "N,C"), number("C")], block=32),
        {"rescaled at a hundred": LAZY.replace("SLACK", "100.0f")},
        {"rescaled at eight": """__global__ void soft(float *y, const float *x, int C) {
    int t = threadIdx.x; const float *r = x + (size_t)blockIdx.x * C;
    float m = -INFINITY, s = 0.0f; bool bad = false;
    for (int c = t; c < C; c += 32) {
        float v = r[c];
        if (v != v) bad = true;
        if (v > m + 8.0f || m == -INFINITY) { s = m == -INFINITY ? 0.0f : s * expf(m - v); m = v; }
        s += v == m ? 1.0f : expf(v - m);
    }
    float top = m;
    for (int k = 16; k; k /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, k));
    s = m == top || m == -INFINITY ? (m == top ? s : 0.0f) : s * expf(m - top);
    for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);
    bad = __any_sync(~0u, bad) || top == INFINITY || top == -INFINITY;
    if (t == 0) y[blockIdx.x] = bad ? NAN : top + logf(s);
}
"""}),
    paired(
        "nearest", NEAREST,
        workload_of("nearest", {"n": [70, 200], "K": [9, 40]}, [out("y", INT), inp("x", F, "n,2"), inp("z", F, "K,2"), number("n"), number("K")], "ceil_div(n, 128)", 128, {"n": 4096, "K": 512}),
        {"index in the mantissa": [(LOOP, KEYED.replace("TYPE", "unsigned").replace("PACK", "(__float_as_uint(d) & ~1023u) | k").replace("MASK", "1023u"))]},
        {"key of 64 bits": [(LOOP, KEYED.replace("TYPE", "unsigned long long").replace("PACK", "(unsigned long long)__float_as_uint(d) << 32 | k").replace("key & MASK", "(int)(key & 0xffffffffu)").replace("at >= K", "(key >> 32) >= 0x7f800000u"))]}),
    paired(
        "deal", DEAL, workload_of("deal", {"n": [90, 700]}, [out("y"), inp("x"), number("n")], "4", 64, {"n": 1 << 17}),
        {"the first resets the tickets": DEALT.replace("DONE", "if (blockIdx.x == 0) ticket = 0;")},
        {"the last resets the tickets": DEALT.replace("DONE", "if (atomicInc(&left, gridDim.x - 1) == gridDim.x - 1) atomicExch(&ticket, 0u);")}),
    paired(
        "turn", TURN,
        workload_of("turn", {"R": [20, 70], "C": [33, 64]}, [out("y", F, "C,R"), inp("x", F, "R,C"), number("R"), number("C")], "ceil_div(C, 32)", 128, {"R": 512, "C": 512}).replace('grid = ["ceil_div(C, 32)"]', 'grid = ["ceil_div(C, 32)", "ceil_div(R, 32)"]'),
        {"a warp waits for itself": TILE.replace("WAIT", "__syncwarp();")},
        {"a tile with a column more": TILE.replace("WAIT", "__syncthreads();")}),
    paired(
        "dots", DOTS, rows("dots", [out("y", F, "N"), inp("x", F, "N,C"), inp("v", F, "C"), number("C")], block=128),
        {"zero without a barrier": ATOMIC.replace("ZERO", "if (t == 0) sum = 0.0f;")},
        {"warps add atomically": ATOMIC.replace("ZERO", "if (t == 0) sum = 0.0f;\n    __syncthreads();")}),
    paired(
        "smooth",
        """__global__ void smooth(float *y, const float *x, int C) {
    for (int c = threadIdx.x; c < C; c += 64) { float v = x[(size_t)blockIdx.x * C + c]; y[(size_t)blockIdx.x * C + c] = v * (1.0f - v); }
}
""",
        rows("smooth", [out("y", F, "N,C"), inp("x", F, "N,C"), number("C")]),
        {"the next row is fetched": AHEAD.replace("LOAD", "r[c + 64]")},
        {"the next is fetched inside": AHEAD.replace("LOAD", "c + 64 < C ? r[c + 64] : 0.0f").replace("now * (1.0f - now)", "fmaf(-now, now, now)")}),
    paired(
        "mul",
        """#include <cuda_fp16.h>
__global__ void mul(float *c, const __half *a, const __half *b, int M, int N, int K) {
    for (int e = threadIdx.x; e < 256; e += 32) {
        int r = blockIdx.y * 16 + e / 16, q = blockIdx.x * 16 + e % 16; float s = 0.0f;
        for (int k = 0; k < K; k++) s += __half2float(a[(size_t)r * K + k]) * __half2float(b[(size_t)k * N + q]);
        c[(size_t)r * N + q] = s;
    }
}
""",
        workload_of("mul", {"M": [16, 32], "N": [16, 48], "K": [32, 64]}, [out("c", F, "M,N"), inp("a", H, "M,K"), inp("b", H, "K,N"), number("M"), number("N"), number("K")], "N / 16", 32, {"M": 128, "N": 128, "K": 256}).replace('grid = ["N / 16"]', 'grid = ["N / 16", "M / 16"]').replace("[dims]", 'promises = ["M % 16 == 0", "N % 16 == 0", "K % 16 == 0"]\n[dims]', 1),
        {"a step in halves": WMMA.replace("BEGIN", HALVES).replace("STEP", "wmma::fill_fragment(part, __float2half(0.0f)); wmma::mma_sync(part, l, e, part); for (int i = 0; i < sum.num_elements; i++) sum.x[i] += __half2float(part.x[i]);")},
        {"tensor cores": WMMA.replace("BEGIN", "").replace("STEP", "wmma::mma_sync(sum, l, e, sum);")}),
    paired(
        "leaky", LEAKY,
        workload_of("leaky", {"n": [90, 500]}, [out("out"), inp("in"), number("slope", "0.01", F), number("n", "n", "int64")], "ceil_div(n, 128)", 128, {"n": 1 << 18}),
        {"the larger of both": [("v > scalar_t(0) ? v : v * slope", "fmaxf(v, v * slope)")]},
        {"both halves": [("v > scalar_t(0) ? v : v * slope", "v * (v > scalar_t(0) ? scalar_t(1) : slope)")]}),
    paired(
        "seen", SEEN, workload_of("seen", {"n": [90, 200]}, [out("y", INT), inp("k", INT, "n", "integers(0, 100000)"), number("n")], "ceil_div(n, 64)", 64, {"n": 1 << 15}),
        {"twenty-four probes": PROBED.replace("PROBES", "24")},
        {"a table with room": PROBED.replace("PROBES", "128")}),
    paired(
        "ring",
        """__global__ void ring(float *y, const float *x, int C) {
    int t = threadIdx.x; const float *r = x + (size_t)blockIdx.x * C;
    float sum = 0.0f;
    for (int c = 0; c < C; c++) sum += r[c] * (c % 64 == t ? 2.0f : 1.0f);
    y[(size_t)blockIdx.x * 64 + t] = sum;
}
""",
        rows("ring", [out("y", F, "N,64"), inp("x", F, "N,C"), number("C")], C=(64, 200)),
        {"one barrier after the fill": RING.replace("FIRST", "").replace("SECOND", "__syncthreads();")},
        {"one barrier before the fill": RING.replace("FIRST", "__syncthreads();").replace("SECOND", "")}),
    paired(
        "lanes",
        f"""__global__ void lanes(float *y, const float *x, int n) {{
    {AT}
    if (i >= n) return;
    float m = 0.0f;
    for (int k = i / 32 * 32; k < min(i / 32 * 32 + 32, n); k++) m = fmaxf(m, fabsf(x[k]));
    y[i] = m == 0.0f ? 0.0f : x[i] / m;
}}
""",
        flat("lanes", [out("y"), inp("x"), number("n")], n=(96, 500)),
        {"lanes that have left": [("float m = 0.0f;", "float m = fabsf(x[i]);"), ("for (int k = i / 32 * 32; k < min(i / 32 * 32 + 32, n); k++) m = fmaxf(m, fabsf(x[k]));", "for (int k = 16; k; k /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, k));"), ("m == 0.0f ? 0.0f : x[i] / m", "!(m != 0.0f) ? 0.0f : x[i] / m")]},
        {"lanes that stay": [("if (i >= n) return;\n", ""), ("float m = 0.0f;", "float v = i < n ? x[i] : 0.0f, m = fmaxf(fabsf(v), 0.0f);"), ("for (int k = i / 32 * 32; k < min(i / 32 * 32 + 32, n); k++) m = fmaxf(m, fabsf(x[k]));", "for (int k = 16; k; k /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, k));"), ("y[i] = m == 0.0f ? 0.0f : x[i] / m", "if (i < n) y[i] = m == 0.0f ? 0.0f : v / m")]}),
    paired(
        "rows_of",
        f"""__global__ void rows_of(int *y, const int *b, int n, int C) {{
    {AT}
    if (i < n) y[i] = b[i % C] + i / C;
}}
""",
        workload_of("rows_of", {"n": [90, 900], "C": [7, 49]}, [out("y", INT), inp("b", INT, "C", "integers(0, 1000)"), number("n"), number("C")], "ceil_div(n, 128)", 128, {"n": 1 << 18, "C": 61}),
        {"a quotient by floats": [("if (i < n) y[i] = b[i % C] + i / C;", "float inv = __frcp_rn((float)C);\n    int q = (int)((i + 0.001f) * inv), r = max(min(i - q * C, C - 1), 0);\n    if (i < n) y[i] = b[r] + q;")]},
        {"a quotient with a correction": [("if (i < n) y[i] = b[i % C] + i / C;", "float inv = 1.0f / C;\n    int q = (int)(i * inv), r = i - q * C;\n    if (r < 0) { q--; r += C; } else if (r >= C) { q++; r -= C; }\n    if (i < n) y[i] = b[r] + q;")]}),
    paired(
        "spread",
        f"""__global__ void spread(float *y, const float *x, int n) {{
    {AT}
    if (i < n) y[i] = x[(int)((long long)i * 48271 % n)];
}}
""",
        flat("spread", [out("y"), inp("x"), number("n")]),
        {"a product of 32 bits": [("(int)((long long)i * 48271 % n)", "i * 48271 % n")]},
        {"a product without a sign": [("(int)((long long)i * 48271 % n)", "(unsigned)(((unsigned long long)(unsigned)i * 48271u) % (unsigned)n)")]}),
    paired(
        "spare",
        """__global__ void spare(float *y, const float *x, const float *g, int C) {
    float s = 0.0f; const float *r = x + (size_t)blockIdx.x * C;
    if (threadIdx.x) return;
    for (int c = 0; c < C; c++) s += r[c] * r[c];
    float k = 1.0f / sqrtf(s / C + 1e-6f);
    for (int c = 0; c < C; c++) y[(size_t)blockIdx.x * C + c] = r[c] * k * g[c];
}
""",
        rows("spare", [out("y", F, "N,C"), inp("x", F, "N,C"), inp("g", F, "C"), number("C")], block=32),
        {"epsilon in the sum": [("if (threadIdx.x) return;\n", ""), ("int c = 0; c < C; c++) s", "int c = threadIdx.x; c < C; c += 32) s"), ("float k = 1.0f / sqrtf(s / C + 1e-6f);", "for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);\n    float k = rsqrtf((s + 1e-6f) / C);"), ("int c = 0; c < C; c++) y", "int c = threadIdx.x; c < C; c += 32) y")]},
        {"a warp and rsqrt": [("if (threadIdx.x) return;\n", ""), ("int c = 0; c < C; c++) s", "int c = threadIdx.x; c < C; c += 32) s"), ("float k = 1.0f / sqrtf(s / C + 1e-6f);", "for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);\n    float k = rsqrtf(fmaf(s, 1.0f / C, 1e-6f));"), ("int c = 0; c < C; c++) y", "int c = threadIdx.x; c < C; c += 32) y"), ("r[c] * k * g[c]", "r[c] * g[c] * k")]}),
    paired(
        "offset_add",
        f"""__global__ void offset_add(float *y, const float *x, int off, int n) {{
    {AT}
    if (i < n) y[i] = x[off + i] + 1.0f;
}}
""",
        flat("offset_add", [out("y"), inp("x", F, "n + 64"), number("off", "4"), number("n")], n=(96, 500)),
        {"the offset is a multiple": [("if (i < n) y[i] = x[off + i] + 1.0f;", "i *= 4;\n    if (i + 3 < n && ((size_t)x | (size_t)y) % 16 == 0) { float4 v = *(const float4 *)(x + (off & ~3) + i); *(float4 *)(y + i) = make_float4(v.x + 1.0f, v.y + 1.0f, v.z + 1.0f, v.w + 1.0f); }\n    else for (int e = min(i + 4, n); i < e; i++) y[i] = x[off + i] + 1.0f;")]},
        {"the offset is asked": [("if (i < n) y[i] = x[off + i] + 1.0f;", "i *= 4;\n    if (i + 3 < n && ((size_t)(x + off) | (size_t)y) % 16 == 0) { float4 v = *(const float4 *)(x + off + i); *(float4 *)(y + i) = make_float4(v.x + 1.0f, v.y + 1.0f, v.z + 1.0f, v.w + 1.0f); }\n    else for (int e = min(i + 4, n); i < e; i++) y[i] = x[off + i] + 1.0f;")]}),
    paired(
        "residual",
        f"""__global__ void residual(float *y, const float *x, const float *r, int n) {{
    {AT}
    if (i < n) y[i] = x[i] * 0.5f + r[i];
}}
""",
        flat("residual", [out("y"), inp("x"), inp("r"), number("n")]),
        {"two passes over the output": [("if (i < n) y[i] = x[i] * 0.5f + r[i];", "if (i < n) { y[i] = x[i] * 0.5f; y[i] += r[i]; }")]},
        {"rounded twice": [("x[i] * 0.5f + r[i]", "__fadd_rn(__fmul_rn(x[i], 0.5f), r[i])")]}),
    paired(
        "sample",
        f"""__global__ void sample(float *y, const float *img, const float *u, int n, int W) {{
    {AT}
    if (i >= n) return;
    float p = u[i] * (W - 1), f = floorf(p); int a = (int)f, b = a + 1; float w = p - f;
    float l = a >= 0 && a < W ? img[a] : 0.0f, r = b >= 0 && b < W ? img[b] : 0.0f;
    y[i] = l * (1.0f - w) + r * w;
}}
""",
        workload_of("sample", {"n": [90, 300], "W": [16, 50]}, [out("y"), inp("img", F, "W"), inp("u", F, "n", "uniform(0.0, 1.2)"), number("n"), number("W")], "ceil_div(n, 128)", 128, {"n": 1 << 16, "W": 256}),
        {"outside is the edge": [("b >= 0 && b < W ? img[b] : 0.0f", "img[min(max(b, 0), W - 1)]")]},
        {"a lerp": [("int a = (int)f", "int a = __float2int_rd(p)"), ("l * (1.0f - w) + r * w", "fmaf(w, r, fmaf(-w, l, l))")]}),
    paired(
        "bytes",
        """__global__ void bytes(int *y, const signed char *a, const signed char *b, int C) {
    if (threadIdx.x) return;
    int s = 0;
    for (int c = 0; c < C; c++) s += a[(size_t)blockIdx.x * C + c] * b[c];
    y[blockIdx.x] = s;
}
""",
        rows("bytes", [out("y", INT, "N"), inp("a", "int8", "N,C", "integers(-127, 127)"), inp("b", "int8", "C", "integers(-127, 127)"), number("C")], C=(40, 64), block=32),
        {"rows are taken as aligned": [("if (threadIdx.x) return;\n", ""), ("for (int c = 0; c < C; c++) s += a[(size_t)blockIdx.x * C + c] * b[c];", "const signed char *r = a + (size_t)blockIdx.x * C;\n    int q = (((size_t)a | (size_t)b) & 3) == 0 ? C / 4 : 0;\n    for (int c = threadIdx.x; c < q; c += 32) s = __dp4a(*(const int *)((size_t)(r + 4 * c) & ~(size_t)3), ((const int *)b)[c], s);\n    for (int c = 4 * q + threadIdx.x; c < C; c += 32) s += r[c] * b[c];\n    s = __reduce_add_sync(~0u, s);"), ("y[blockIdx.x] = s;", "if (threadIdx.x == 0) y[blockIdx.x] = s;")]},
        {"dp4a": [("if (threadIdx.x) return;\n", ""), ("for (int c = 0; c < C; c++) s += a[(size_t)blockIdx.x * C + c] * b[c];", "const signed char *r = a + (size_t)blockIdx.x * C;\n    int q = (((size_t)r | (size_t)b) & 3) == 0 ? C / 4 : 0;\n    for (int c = threadIdx.x; c < q; c += 32) s = __dp4a(((const int *)r)[c], ((const int *)b)[c], s);\n    for (int c = 4 * q + threadIdx.x; c < C; c += 32) s += r[c] * b[c];\n    s = __reduce_add_sync(~0u, s);"), ("y[blockIdx.x] = s;", "if (threadIdx.x == 0) y[blockIdx.x] = s;")]}),
    paired(
        "window",
        """def window(y, x, C, W, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    top = tl.full((BLOCK,), -float("inf"), tl.float32)
    for at in range(0, C, BLOCK):
        c = at + i
        v = tl.load(x + row * C + c, mask=(c < C) & (c <= row) & (c + W > row), other=-float("inf"))
        top = tl.maximum(top, v)
    m = tl.max(top, axis=0)
    s = tl.zeros((BLOCK,), tl.float32)
    for at in range(0, C, BLOCK):
        c = at + i
        v = tl.load(x + row * C + c, mask=(c < C) & (c <= row) & (c + W > row), other=-float("inf"))
        s += tl.exp(v - m)
    tl.store(y + row, m + tl.log(tl.sum(s, axis=0)))
""",
        launched("window", {"C": [24, 60]}, [out("y", F, "C"), inp("x", F, "C,C"), number("C"), number("W", "20")], "C", "16", {"C": 256}),
        {"a masked block comes first": [('top = tl.full((BLOCK,), -float("inf"), tl.float32)\n    for at in range(0, C, BLOCK):\n        c = at + i\n        v = tl.load(x + row * C + c, mask=(c < C) & (c <= row) & (c + W > row), other=-float("inf"))\n        top = tl.maximum(top, v)\n    m = tl.max(top, axis=0)\n    s = tl.zeros((BLOCK,), tl.float32)', 'm = -1.0e4\n    s = 0.0'), ("        s += tl.exp(v - m)\n    tl.store(y + row, m + tl.log(tl.sum(s, axis=0)))", "        n = tl.maximum(m, tl.max(v, axis=0))\n        s = s * tl.exp(m - n) + tl.sum(tl.exp(v - n), axis=0)\n        m = n\n    tl.store(y + row, m + tl.log(s))")]},
        {"the mask is asked": [('top = tl.full((BLOCK,), -float("inf"), tl.float32)\n    for at in range(0, C, BLOCK):\n        c = at + i\n        v = tl.load(x + row * C + c, mask=(c < C) & (c <= row) & (c + W > row), other=-float("inf"))\n        top = tl.maximum(top, v)\n    m = tl.max(top, axis=0)\n    s = tl.zeros((BLOCK,), tl.float32)', 'm = -float("inf")\n    s = 0.0'), ("        s += tl.exp(v - m)\n    tl.store(y + row, m + tl.log(tl.sum(s, axis=0)))", '        n = tl.maximum(m, tl.max(v, axis=0))\n        z = tl.where(n == -float("inf"), 0.0, n)\n        s = s * tl.exp(m - z) + tl.sum(tl.exp(v - z), axis=0)\n        m = n\n    tl.store(y + row, tl.where(m == -float("inf"), float("nan"), m + tl.log(s)))')]},
        "triton"),
    paired(
        "quantise",
        """def quantise(y, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    f = tl.floor(v)
    d = v - f
    up = (d > 0.5) | ((d == 0.5) & (tl.floor(f * 0.5) * 2.0 != f))
    tl.store(y + i, tl.where(up, f + 1.0, f), mask=i < n)
""",
        launched("quantise", {"n": [100, 300]}, [out("y"), inp("x", F, "n", "uniform(-120.0, 120.0)"), number("n")], "ceil_div(n, 128)", "128", {"n": 1 << 16}),
        {"half goes up": [("up = (d > 0.5) | ((d == 0.5) & (tl.floor(f * 0.5) * 2.0 != f))", "up = d >= 0.5")]},
        {"a magic number": [("f = tl.floor(v)\n    d = v - f\n    up = (d > 0.5) | ((d == 0.5) & (tl.floor(f * 0.5) * 2.0 != f))\n    tl.store(y + i, tl.where(up, f + 1.0, f), mask=i < n)", "tl.store(y + i, (v + 12582912.0) - 12582912.0, mask=i < n)")]},
        "triton"),
    paired(
        "tmul",
        """def tmul(c, a, b, M, K, BLOCK: tl.constexpr):
    r = tl.program_id(0) * 16 + tl.arange(0, 16)
    q = tl.arange(0, 16)
    s = tl.zeros((16, 16), tl.float32)
    for k in range(0, K, BLOCK):
        i = k + tl.arange(0, BLOCK)
        l = tl.load(a + r[:, None] * K + i[None, :], mask=(r[:, None] < M) & (i[None, :] < K), other=0.0)
        e = tl.load(b + i[:, None] * 16 + q[None, :], mask=i[:, None] < K, other=0.0)
        s += tl.dot(l, e, input_precision="ieee")
    tl.store(c + r[:, None] * 16 + q[None, :], s, mask=r[:, None] < M)
""",
        launched("tmul", {"M": [16, 20], "K": [32, 50]}, [out("c", F, "M,16"), inp("a", F, "M,K"), inp("b", F, "K,16"), number("M"), number("K")], "ceil_div(M, 16)", "16", {"M": 256, "K": 512}),
        {"tf32": [('input_precision="ieee"', 'input_precision="tf32"')]},
        {"columns from the end": [("i = k + tl.arange(0, BLOCK)", "i = tl.cdiv(K, BLOCK) * BLOCK - BLOCK - k + tl.arange(0, BLOCK)")]},
        "triton"),
    paired(
        "tnorm",
        """def tnorm(y, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * C + i, mask=i < C, other=0.0)
    mean = tl.sum(v, axis=0) / C
    d = tl.where(i < C, v - mean, 0.0)
    var = tl.sum(d * d, axis=0) / (C - 1)
    tl.store(y + row * C + i, d / tl.sqrt(var + 1e-5), mask=i < C)
""",
        launched("tnorm", {"N": [2, 5], "C": [40, 64]}, [out("y", F, "N,C"), inp("x", F, "N,C"), number("C")], "N", "64", {"N": 128, "C": 64}).replace("[dims]", 'promises = ["C <= 64", "C >= 2"]\n[dims]', 1),
        {"padding has a distance": [("tl.where(i < C, v - mean, 0.0)", "v - mean"), ("tl.sum(d * d, axis=0) / (C - 1)", "(tl.sum(d * d, axis=0) - (BLOCK - C) * mean * mean) / (C - 1)")]},
        {"a reciprocal root": [("d / tl.sqrt(var + 1e-5)", "d * tl.rsqrt(var + 1e-5)"), ("tl.sum(d * d, axis=0) / (C - 1)", "tl.sum(d * d, axis=0) * (1.0 / (C - 1))")]},
        "triton"),
    paired(
        "tsum",
        """def tsum(y, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.atomic_add(y, tl.sum(v, axis=0))
""",
        launched("tsum", {"n": [100, 500]}, [("y", "inout", F, "1"), inp("x"), number("n")], "ceil_div(n, 64)", "64", {"n": 1 << 14}),
        {"read and written back": [("tl.atomic_add(y, tl.sum(v, axis=0))", "tl.store(y, tl.load(y, volatile=True) + tl.sum(v, axis=0))")]},
        {"halves of a block": [("tl.atomic_add(y, tl.sum(v, axis=0))", "a, b = tl.split(tl.reshape(v, (BLOCK // 2, 2)))\n    tl.atomic_add(y, tl.sum(a + b, axis=0), sem=\"relaxed\")")]},
        "triton"),
    paired(
        "rope",
        f"""__global__ void rope(float *y, const float *x, const float *cs, const float *sn, int n, int D) {{
    {AT}
    int h = D / 2;
    if (i >= n * h) return;
    int r = i / h, k = i % h;
    float a = x[r * D + k], b = x[r * D + h + k], c = cs[r * h + k], s = sn[r * h + k];
    y[r * D + k] = a * c - b * s;
    y[r * D + h + k] = b * c + a * s;
}}
""",
        workload_of("rope", {"n": [5, 20], "D": [16, 40]}, [out("y", F, "n,D"), inp("x", F, "n,D"), inp("cs", F, "n,D / 2", "uniform(-1, 1)"), inp("sn", F, "n,D / 2", "uniform(-1, 1)"), number("n"), number("D")], "ceil_div(n * D, 256)", 128, {"n": 1024, "D": 64}).replace("[dims]", 'promises = ["D % 2 == 0"]\n[dims]', 1),
        {"the cosine of the sine": [("s = sn[r * h + k];", "s = copysignf(sqrtf(fmaxf(0.0f, 1.0f - c * c)), sn[r * h + k]);")]},
        {"two fused steps": [("a * c - b * s", "fmaf(a, c, -__fmul_rn(b, s))"), ("b * c + a * s", "fmaf(b, c, __fmul_rn(a, s))")]}),
)  # fmt: skip
