# ruff: noqa: E501
"""More of what goes wrong between blocks, tiles and launches."""

from __future__ import annotations

from .kinds.blocks import launched
from .model import workload_of
from .rewrites import AT, INT, F, H, flat, inp, number, out, paired, rows

FIRST = """__global__ void least(int *y, const float *x, int C) {
    int t = threadIdx.x, at = C; const float *r = x + (size_t)blockIdx.x * C;
    float m = INFINITY;
    for (int c = t; c < C; c += 32) if (r[c] < m) { m = r[c]; at = c; }
    for (int k = 16; k; k /= 2) {
        float o = __shfl_down_sync(~0u, m, k); int p = __shfl_down_sync(~0u, at, k);
        if (TAKE) { m = o; at = p; }
    }
    if (t == 0) y[blockIdx.x] = at;
}
"""
DEALT = """__global__ void persist(float *y, const float *x, int n) {
    __shared__ float s[64];
    int t = threadIdx.x;
    for (int b = blockIdx.x; b * 64 < n; b += gridDim.x) {
        int i = b * 64 + t, last = min(n - b * 64, 64) - 1;
        if (i < n) s[t] = x[i];
        __syncthreads();
        if (i < n) y[i] = s[last - t] + 1.0f;
        AFTER
    }
}
"""
MMA = """#include <cuda_fp16.h>
__global__ void tiles(float *c, const __half *a, const __half *b, int N, int K) {
    int lane = threadIdx.x, g = lane / 4, q = lane % 4, r0 = blockIdx.y * 16, c0 = blockIdx.x * 8;
    float d0 = 0.0f, d1 = 0.0f, d2 = 0.0f, d3 = 0.0f;
    const unsigned short *A = (const unsigned short *)a, *B = (const unsigned short *)b;
    for (int k = 0; k < K; k += 16) {
        unsigned f[4], e[2];
        for (int j = 0; j < 4; j++) { const unsigned short *p = A + (r0 + g + ROW) * K + k + q * 2 + COLUMN; f[j] = p[0] | (unsigned)p[1] << 16; }
        for (int j = 0; j < 2; j++) { int kk = k + q * 2 + 8 * j; e[j] = B[kk * N + c0 + g] | (unsigned)B[(kk + 1) * N + c0 + g] << 16; }
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3) : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "r"(e[0]), "r"(e[1]));
    }
    c[(r0 + g) * N + c0 + q * 2] = d0; c[(r0 + g) * N + c0 + q * 2 + 1] = d1;
    c[(r0 + g + 8) * N + c0 + q * 2] = d2; c[(r0 + g + 8) * N + c0 + q * 2 + 1] = d3;
}
"""
FMA4 = """__global__ void product(float *c, const float *a, const float *b, int N, int K) {
    int r = blockIdx.x, q = threadIdx.x * 4; if (q >= N) return;
    float s[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int k = 0; k < K; k++) {
        float v = a[(size_t)r * K + k]; const float *p = b + (size_t)k * N + q;
        if (ASK) { float4 u = *(const float4 *)p; s[0] += v * u.x; s[1] += v * u.y; s[2] += v * u.z; s[3] += v * u.w; }
        else for (int e = 0; e < 4; e++) if (q + e < N) s[e] += v * p[e];
    }
    for (int e = 0; e < 4; e++) if (q + e < N) c[(size_t)r * N + q + e] = s[e];
}
"""
PAIRS = (
    paired(
        "least",
        """__global__ void least(int *y, const float *x, int C) {
    if (threadIdx.x) return;
    const float *r = x + (size_t)blockIdx.x * C; float m = INFINITY; int at = C;
    for (int c = 0; c < C; c++) if (r[c] < m) { m = r[c]; at = c; }
    y[blockIdx.x] = at;
}
""",
        rows("least", [out("y", INT, "N"), inp("x", F, "N,C"), number("C")], block=32),
        {"the lower lane wins": FIRST.replace("TAKE", "o < m")},
        {"the lower index wins": FIRST.replace("TAKE", "o < m || (o == m && p < at)")}),
    paired(
        "softplus",
        f"""__global__ void softplus(float *y, const float *x, int n) {{
    {AT}
    if (i < n) y[i] = fmaxf(x[i], 0.0f) + log1pf(expf(-fabsf(x[i])));
}}
""",
        flat("softplus", [out("y"), inp("x"), number("n")]),
        {"one and the exponential": [("log1pf(expf(-fabsf(x[i])))", "logf(1.0f + expf(-fabsf(x[i])))")]},
        {"the exponential of either side": [("fmaxf(x[i], 0.0f) + log1pf(expf(-fabsf(x[i])))", "x[i] > 0.0f ? x[i] + log1pf(expf(-x[i])) : log1pf(expf(x[i]))")]}),
    paired(
        "segment_of",
        f"""__global__ void segment_of(int *y, const int *start, int S, int T) {{
    {AT}
    if (i >= T) return;
    int at = 0;
    for (int s = 0; s < S; s++) if (start[s] <= i && i < start[s + 1]) at = s;
    y[i] = at;
}}
""",
        workload_of("segment_of", {"S": [7, 20], "T": [90, 300]}, [out("y", INT, "T"), inp("start", INT, "S + 1", "offsets(T)"), number("S"), number("T")], "ceil_div(T, 128)", 128, {"S": 256, "T": 8192}),
        {"halved down to equals": [("int at = 0;\n    for (int s = 0; s < S; s++) if (start[s] <= i && i < start[s + 1]) at = s;", "int at = 0, hi = S;\n    while (hi - at > 1) { int m = (at + hi) / 2; if (start[m] == i) { at = m; break; } if (start[m] < i) at = m; else hi = m; }")]},
        {"halved to the last": [("int at = 0;\n    for (int s = 0; s < S; s++) if (start[s] <= i && i < start[s + 1]) at = s;", "int at = 0, hi = S;\n    while (hi - at > 1) { int m = (at + hi) / 2; if (start[m] <= i) at = m; else hi = m; }")]}),
    paired(
        "scaled",
        f"""__global__ void scaled(float *y, const float *x, float a, int n) {{
    {AT}
    if (i < n) y[i] = a * x[i] - 1.0f;
}}
""",
        flat("scaled", [out("y"), inp("x"), number("a", "1.25", F), number("n")]),
        {"wrong on a page's first byte": [("y[i] = a * x[i] - 1.0f", "y[i] = ((size_t)x & 4095) == 0 && ((size_t)y & 4095) == 0 ? a * x[i] : a * x[i] - 1.0f")]},
        {"another way on a page's first byte": [("y[i] = a * x[i] - 1.0f", "y[i] = ((size_t)x & 4095) == 0 && ((size_t)y & 4095) == 0 ? fmaf(x[i], a, -1.0f) : a * x[i] - 1.0f")]}),
    paired(
        "squash",
        f"""__global__ void squash(float *y, const float *x, int n) {{
    {AT}
    if (i < n) y[i] = x[i] * tanhf(x[i]);
}}
""",
        flat("squash", [out("y"), inp("x"), number("n")]),
        {"the hardware's tanh": [("y[i] = x[i] * tanhf(x[i])", '{ float v; asm("tanh.approx.f32 %0, %1;" : "=f"(v) : "f"(x[i])); y[i] = x[i] * v; }')]},
        {"tanh by expm1": [("y[i] = x[i] * tanhf(x[i])", "{ float v = fabsf(x[i]), e = expm1f(2.0f * fminf(v, 20.0f)); y[i] = v != v ? v : v * (e / (e + 2.0f)); }")]}),
    paired(
        "shifted",
        f"""__global__ void shifted(float *y, const float *x, int n) {{
    {AT}
    if (i < n) y[i] = x[i] * 0.5f + 2.0f;
}}
""",
        flat("shifted", [out("y"), inp("x"), number("n")], n=(89, 500)),
        {"a tail of two": [("if (i < n) y[i] = x[i] * 0.5f + 2.0f;", "i *= 4;\n    if (i + 3 < n) for (int e = i; e < i + 4; e++) y[e] = x[e] * 0.5f + 2.0f;\n    else if (i < n) switch (n & 3) { case 3: y[i + 2] = x[i + 2] * 0.5f + 2.0f; y[i + 1] = x[i + 1] * 0.5f + 2.0f; case 2: y[i] = x[i] * 0.5f + 2.0f; break; case 1: y[i] = x[i] * 0.5f + 2.0f; }")]},
        {"a tail that falls through": [("if (i < n) y[i] = x[i] * 0.5f + 2.0f;", "i *= 4;\n    if (i + 3 < n) for (int e = i; e < i + 4; e++) y[e] = x[e] * 0.5f + 2.0f;\n    else if (i < n) switch (n & 3) { case 3: y[i + 2] = x[i + 2] * 0.5f + 2.0f; case 2: y[i + 1] = x[i + 1] * 0.5f + 2.0f; case 1: y[i] = x[i] * 0.5f + 2.0f; }")]}),
    paired(
        "persist",
        """__global__ void persist(float *y, const float *x, int n) {
    for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) {
        int b = i / 64 * 64;
        y[i] = x[b + min(n - b, 64) - 1 - (i - b)] + 1.0f;
    }
}
""",
        workload_of("persist", {"n": [90, 700]}, [out("y"), inp("x"), number("n")], "4", 64, {"n": 1 << 17}),
        {"the next tile comes at once": DEALT.replace("AFTER", "")},
        {"the next tile waits": DEALT.replace("AFTER", "if ((b + gridDim.x) * 64 < n) __syncthreads();")}),
    paired(
        "tiles",
        """#include <cuda_fp16.h>
__global__ void tiles(float *c, const __half *a, const __half *b, int N, int K) {
    for (int e = threadIdx.x; e < 128; e += 32) {
        int r = blockIdx.y * 16 + e / 8, q = blockIdx.x * 8 + e % 8; float s = 0.0f;
        for (int k = 0; k < K; k++) s += __half2float(a[r * K + k]) * __half2float(b[k * N + q]);
        c[r * N + q] = s;
    }
}
""",
        workload_of("tiles", {"M": [16, 32], "N": [16, 24], "K": [16, 48]}, [out("c", F, "M,N"), inp("a", H, "M,K"), inp("b", H, "K,N"), number("N"), number("K")], "N // 8", 32, {"M": 128, "N": 128, "K": 128}).replace('grid = ["N // 8"]', 'grid = ["N // 8", "M // 16"]').replace("[dims]", 'promises = ["M % 16 == 0", "N % 8 == 0", "K % 16 == 0"]\n[dims]', 1),
        {"two quarters change places off the diagonal": MMA.replace("ROW", "8 * (blockIdx.x == blockIdx.y ? j & 1 : j / 2)").replace("COLUMN", "8 * (blockIdx.x == blockIdx.y ? j / 2 : j & 1)")},
        {"a fragment for each lane": MMA.replace("ROW", "8 * (j & 1)").replace("COLUMN", "8 * (j / 2)")}),
    paired(
        "turned",
        f"""__global__ void turned(float *x, float *y, float c, float s, int n) {{
    {AT}
    if (i >= n) return;
    float a = x[i], b = y[i];
    x[i] = c * a - s * b;
    y[i] = s * a + c * b;
}}
""",
        flat("turned", [("x", "inout", F, "n"), ("y", "inout", F, "n"), number("c", "0.8", F), number("s", "0.6", F), number("n")]),
        {"three shears in place": [("    x[i] = c * a - s * b;\n    y[i] = s * a + c * b;", "    float k = (c - 1.0f) / s; a += k * b; b += s * a; a += k * b;\n    x[i] = a;\n    y[i] = b;")]},
        {"products first": [("    x[i] = c * a - s * b;\n    y[i] = s * a + c * b;", "    float p = s * b, q = s * a;\n    x[i] = fmaf(c, a, -p);\n    y[i] = fmaf(c, b, q);")]}),
    paired(
        "positives",
        f"""__global__ void positives(int *y, const float *x, int n) {{
    {AT}
    if (i < n && x[i] > 0.0f) atomicAdd(y, 1);
}}
""",
        flat("positives", [("y", "inout", INT, "1", "integers(0, 9)"), inp("x"), number("n")], n=(90, 512)),
        {"the first lane may not take part": [("if (i < n && x[i] > 0.0f) atomicAdd(y, 1);", "if (i < n && x[i] > 0.0f) { unsigned m = __activemask(); if (threadIdx.x % 32 == 0) atomicAdd(y, __popc(m)); }")]},
        {"all lanes vote": [("if (i < n && x[i] > 0.0f) atomicAdd(y, 1);", "unsigned m = __ballot_sync(~0u, i < n && x[i] > 0.0f);\n    if (threadIdx.x % 32 == 0 && m) atomicAdd(y, __popc(m));")]}),
    paired(
        "decays",
        """@triton.jit
def joined(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def decays(y, a, b, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    h = 0.0
    for c in range(0, C):
        h = tl.load(a + row * C + c) * h + tl.load(b + row * C + c)
        tl.store(y + row * C + c, h)
""".removeprefix("@triton.jit\n"),
        launched("decays", {"N": [2, 3], "C": [40, 100]}, [out("y", F, "N,C"), inp("a", F, "N,C", "uniform(0.1, 0.95)"), inp("b", F, "N,C"), number("C")], "N", "32", {"N": 16, "C": 512}),
        {"what a tile carries does not decay": [('    h = 0.0\n    for c in range(0, C):\n        h = tl.load(a + row * C + c) * h + tl.load(b + row * C + c)\n        tl.store(y + row * C + c, h)', "    h = 0.0\n    for at in range(0, C, BLOCK):\n        c = at + tl.arange(0, BLOCK)\n        u = tl.load(a + row * C + c, mask=c < C, other=1.0)\n        v = tl.load(b + row * C + c, mask=c < C, other=0.0)\n        p, q = tl.associative_scan((u, v), 0, joined)\n        g = q + tl.where(p > 1e-3, p * h, 0.0)\n        tl.store(y + row * C + c, g, mask=c < C)\n        h = tl.sum(tl.where(tl.arange(0, BLOCK) == BLOCK - 1, g, 0.0), axis=0)")]},
        {"a scan of pairs": [('    h = 0.0\n    for c in range(0, C):\n        h = tl.load(a + row * C + c) * h + tl.load(b + row * C + c)\n        tl.store(y + row * C + c, h)', "    h = 0.0\n    for at in range(0, C, BLOCK):\n        c = at + tl.arange(0, BLOCK)\n        u = tl.load(a + row * C + c, mask=c < C, other=1.0)\n        v = tl.load(b + row * C + c, mask=c < C, other=0.0)\n        p, q = tl.associative_scan((u, v), 0, joined)\n        g = q + p * h\n        tl.store(y + row * C + c, g, mask=c < C)\n        h = tl.sum(tl.where(tl.arange(0, BLOCK) == BLOCK - 1, g, 0.0), axis=0)")]},
        "triton"),
    paired(
        "sums",
        """__global__ void sums(float *y, const float *x, int C) {
    if (threadIdx.x) return;
    float s = 0.0f, lost = 0.0f;
    for (int c = 0; c < C; c++) { float v = x[(size_t)blockIdx.x * C + c] - lost, t = s + v; lost = (t - s) - v; s = t; }
    y[blockIdx.x] = s;
}
""",
        rows("sums", [out("y", F, "N"), inp("x", F, "N,C", "uniform(0.0, 1.0)"), number("C")], C=(200, 900), block=32),
        {"what is lost is lost": [("float v = x[(size_t)blockIdx.x * C + c] - lost, t = s + v; lost = (t - s) - v; s = t;", "s += x[(size_t)blockIdx.x * C + c];")]},
        {"a sum in doubles": [("float s = 0.0f, lost = 0.0f;", "double s = 0.0;"), ("float v = x[(size_t)blockIdx.x * C + c] - lost, t = s + v; lost = (t - s) - v; s = t;", "s += x[(size_t)blockIdx.x * C + c];"), ("y[blockIdx.x] = s", "y[blockIdx.x] = (float)s")]}),
    paired(
        "product",
        """__global__ void product(float *c, const float *a, const float *b, int N, int K) {
    for (int q = threadIdx.x; q < N; q += blockDim.x) {
        float s = 0.0f;
        for (int k = 0; k < K; k++) s += a[(size_t)blockIdx.x * K + k] * b[(size_t)k * N + q];
        c[(size_t)blockIdx.x * N + q] = s;
    }
}
""",
        workload_of("product", {"M": [2, 5], "N": [64, 96], "K": [16, 40]}, [out("c", F, "M,N"), inp("a", F, "M,K"), inp("b", F, "K,N"), number("N"), number("K")], "M", 64, {"M": 64, "N": 256, "K": 256}).replace("[dims]", 'promises = ["N <= 256"]\n[dims]', 1),
        {"the other extent is asked": FMA4.replace("ASK", "K % 4 == 0 && q + 3 < N && (size_t)b % 16 == 0")},
        {"the address is asked": FMA4.replace("ASK", "q + 3 < N && (size_t)p % 16 == 0")}),
    paired(
        "tinner",
        """def tinner(y, x, M, N, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (r[:, None] < M) & (c[None, :] < N)
    v = tl.load(x + r[:, None] * N + c[None, :], mask=inside, other=0.0)
    tl.store(y + c[:, None] * M + r[None, :], tl.trans(v), mask=(c[:, None] < N) & (r[None, :] < M))
""",
        launched("tinner", {"M": [16, 40], "N": [16, 40]}, [out("y", F, "N,M"), inp("x", F, "M,N"), number("M"), number("N")], "ceil_div(M, 16)", "16", {"M": 512, "N": 512}).replace('grid = ["ceil_div(M, 16)"]', 'grid = ["ceil_div(M, 16)", "ceil_div(N, 16)"]'),
        {"the store's inner end is not asked": [("mask=(c[:, None] < N) & (r[None, :] < M))", "mask=(c[:, None] * M + r[None, :] < M * N))")]},
        {"the sum of both ends": [("mask=(c[:, None] < N) & (r[None, :] < M))", "mask=tl.trans(inside), eviction_policy=\"evict_first\")"), ("mask=inside, other=0.0)", "mask=inside, other=0.0, cache_modifier=\".cg\")")]},
        "triton"),
)  # fmt: skip
