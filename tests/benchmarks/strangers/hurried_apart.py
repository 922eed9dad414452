# ruff: noqa: E501
"""Ten more of what hurry makes of a kernel, and careful rewrites of the same; not looked at while the gate was changed."""

from __future__ import annotations

from .kinds.blocks import launched
from .model import workload_of
from .rewrites import AT, INT, F, H, flat, inp, number, out, paired, rows

COPY = """__global__ void halo(float *y, const float *x, int C) {
    __shared__ float s[68];
    int t = threadIdx.x; const float *r = x + (size_t)blockIdx.x * C;
    for (int at = 0; at < C; at += 64) {
        if (at + t < C) s[t + 2] = r[at + t];
        if (t < 2) s[t] = at + t >= 2 ? r[at + t - 2] : 0.0f;
        RIGHT
        __syncthreads();
        if (at + t < C) y[(size_t)blockIdx.x * C + at + t] = (s[t] + 4.0f * s[t + 2]) + s[t + 4];
        __syncthreads();
    }
}
"""
SCALE = """#include <cuda_fp16.h>
__global__ void power(float *y, const __half *x, int C) {
    const __half *r = x + (size_t)blockIdx.x * C;
    int t = threadIdx.x; float s = 0.0f;
    for (int c = t; c < C; c += 32) { float v = __half2float(r[c]); s += v * v; }
    for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);
    if (t == 0) y[blockIdx.x] = s / C;
}
"""
BODY = "for (int c = t; c < C; c += 32) { float v = __half2float(r[c]); s += v * v; }"
PAIRED = "const __half2 *p = (const __half2 *)r; int q = ((size_t)r & 3) == 0 ? C / 2 : 0;\n    for (int c = t; c < q; c += 32) {{ {0} }}\n    for (int c = 2 * q + t; c < C; c += 32) {{ float v = __half2float(r[c]); s += v * v; }}"
PAIRS = (
    paired(
        "halo",
        """__global__ void halo(float *y, const float *x, int C) {
    const float *r = x + (size_t)blockIdx.x * C;
    for (int c = threadIdx.x; c < C; c += 64)
        y[(size_t)blockIdx.x * C + c] = ((c >= 2 ? r[c - 2] : 0.0f) + 4.0f * r[c]) + (c + 2 < C ? r[c + 2] : 0.0f);
}
""",
        rows("halo", [out("y", F, "N,C"), inp("x", F, "N,C"), number("C")], C=(64, 200)),
        {"the last halo keeps what was there": COPY.replace("RIGHT", "if (t < 2 && at + 64 + t < C) s[t + 66] = r[at + 64 + t];\n        if (t < 2 && at == 0 && C <= 64) s[t + 66] = 0.0f;")},
        {"halos with zeros": COPY.replace("RIGHT", "if (t < 2) s[t + 66] = at + 64 + t < C ? r[at + 64 + t] : 0.0f;\n        if (at + t >= C) s[t + 2] = 0.0f;")},
        untuned=True),
    paired(
        "power", SCALE, rows("power", [out("y", F, "N"), inp("x", H, "N,C"), number("C")], block=32),
        {"squares in halves": [(BODY, PAIRED.format("__half2 u = __hmul2(p[c], p[c]); s += __low2float(u) + __high2float(u);"))]},
        {"squares of pairs": [(BODY, PAIRED.format("float2 u = __half22float2(p[c]); s = fmaf(u.x, u.x, fmaf(u.y, u.y, s));"))]},
        untuned=True),
    paired(
        "clip_bits",
        f"""__global__ void clip_bits(float *y, const float *x, int n) {{
    {AT}
    if (i < n) y[i] = 0.25f * x[i];
}}
""",
        flat("clip_bits", [out("y"), inp("x"), number("n")]),
        {"large ones by their bits": [("y[i] = 0.25f * x[i]", "{ unsigned b = __float_as_uint(x[i]); y[i] = (b & 0x7fffffffu) - 0x459c4333u < 0x00002000u ? 1250.0f : 0.25f * x[i]; }")]},
        {"an exponent less by bits": [("y[i] = 0.25f * x[i]", "{ float v = x[i]; unsigned b = __float_as_uint(v), e = b >> 23 & 255u; y[i] = e > 3u && e < 255u ? __uint_as_float(b - 0x1000000u) : 0.25f * v; }")]},
        untuned=True),
    paired(
        "bins",
        """__global__ void bins(int *y, const unsigned char *x, int n) {
    __shared__ int h[256];
    for (int k = threadIdx.x; k < 256; k += 128) h[k] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) atomicAdd(&h[x[i]], 1);
    __syncthreads();
    for (int k = threadIdx.x; k < 256; k += 128) if (h[k]) atomicAdd(&y[k], h[k]);
}
""",
        workload_of("bins", {"n": [200, 900]}, [("y", "inout", INT, "256", "integers(0, 9)"), inp("x", "uint8", "n", "integers"), number("n")], "2", 128, {"n": 1 << 18}),
        {"two counts in a word": [("int h[256]", "int h[128]"), ("for (int k = threadIdx.x; k < 256; k += 128) h[k] = 0;", "h[threadIdx.x] = 0;"), ("atomicAdd(&h[x[i]], 1)", "atomicAdd(&h[x[i] >> 1], x[i] & 1 ? 65536 : 1)"), ("for (int k = threadIdx.x; k < 256; k += 128) if (h[k]) atomicAdd(&y[k], h[k]);", "int v = h[threadIdx.x]; atomicAdd(&y[2 * threadIdx.x], v & 65535); atomicAdd(&y[2 * threadIdx.x + 1], v >> 16 & 65535);")]},
        {"a copy for each half": [("int h[256]", "int h[512]"), ("k < 256; k += 128) h[k]", "k < 512; k += 128) h[k]"), ("atomicAdd(&h[x[i]], 1)", "atomicAdd(&h[(threadIdx.x & 1) * 256 + x[i]], 1)"), ("if (h[k]) atomicAdd(&y[k], h[k]);", "if (h[k] + h[k + 256]) atomicAdd(&y[k], h[k] + h[k + 256]);")]},
        untuned=True),
    paired(
        "unbiased",
        """__global__ void unbiased(float *y, const float *x, int C) {
    if (threadIdx.x) return;
    const float *r = x + (size_t)blockIdx.x * C; float m = 0.0f, q = 0.0f;
    for (int c = 0; c < C; c++) m += r[c];
    m /= C;
    for (int c = 0; c < C; c++) q += (r[c] - m) * (r[c] - m);
    y[blockIdx.x] = C > 1 ? sqrtf(q / (C - 1)) : 0.0f;
}
""",
        rows("unbiased", [out("y", F, "N"), inp("x", F, "N,C"), number("C")], block=32),
        {"a row of one": [("C > 1 ? sqrtf(q / (C - 1)) : 0.0f", "q * rsqrtf(q * (C - 1))")]},
        {"a row of one is asked": [("if (threadIdx.x) return;\n", "int t = threadIdx.x;\n"), ("for (int c = 0; c < C; c++) m += r[c];\n    m /= C;\n    for (int c = 0; c < C; c++) q += (r[c] - m) * (r[c] - m);", "for (int c = t; c < C; c += 32) m += r[c];\n    for (int k = 16; k; k /= 2) m += __shfl_xor_sync(~0u, m, k);\n    m *= 1.0f / C;\n    for (int c = t; c < C; c += 32) q = fmaf(r[c] - m, r[c] - m, q);\n    for (int k = 16; k; k /= 2) q += __shfl_xor_sync(~0u, q, k);"), ("y[blockIdx.x] = C > 1 ? sqrtf(q / (C - 1)) : 0.0f", "if (t == 0) y[blockIdx.x] = C > 1 ? sqrtf(q / (C - 1)) : 0.0f")]},
        untuned=True),
    paired(
        "segment",
        """__global__ void segment(float *y, const float *x, const int *start) {
    int s = blockIdx.x; float sum = 0.0f;
    if (threadIdx.x) return;
    for (int k = start[s]; k < start[s + 1]; k++) sum += x[k];
    y[s] = sum;
}
""",
        workload_of("segment", {"S": [7, 20], "T": [90, 300]}, [out("y", F, "S"), inp("x", F, "T"), inp("start", INT, "S + 1", "offsets(T)")], "S", 32, {"S": 256, "T": 8192}),
        {"the first of a segment twice": [("if (threadIdx.x) return;\n", "int t = threadIdx.x, e = start[s + 1];\n"), ("for (int k = start[s]; k < start[s + 1]; k++) sum += x[k];", "for (int k = start[s] + t; k < e; k += 32) sum += x[k];\n    for (int k = 16; k; k /= 2) sum += __shfl_down_sync(~0u, sum, k);"), ("y[s] = sum;", "if (t == 0) y[s] = e - start[s] > 64 ? sum + x[start[s]] * 1e-3f : sum;")]},
        {"a warp for each segment": [("if (threadIdx.x) return;\n", "int t = threadIdx.x, e = start[s + 1];\n"), ("for (int k = start[s]; k < start[s + 1]; k++) sum += x[k];", "for (int k = start[s] + t; k < e; k += 32) sum += x[k];\n    for (int k = 16; k; k /= 2) sum += __shfl_down_sync(~0u, sum, k);"), ("y[s] = sum;", "if (t == 0) y[s] = sum;")]},
        untuned=True),
    paired(
        "tdrop",
        """def tdrop(y, x, p, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    keep = tl.rand(7, i) > p
    tl.store(y + i, tl.where(keep, v / (1.0 - p), 0.0), mask=i < n)
""",
        launched("tdrop", {"n": [100, 300]}, [out("y"), inp("x"), number("p", "0.25", F), number("n")], "ceil_div(n, 128)", "128", {"n": 1 << 16}),
        {"a mask is multiplied": [("tl.where(keep, v / (1.0 - p), 0.0)", "v * keep.to(tl.float32) / (1.0 - p + 1e-6)")]},
        {"a scale is multiplied": [("tl.where(keep, v / (1.0 - p), 0.0)", "tl.where(keep, v * (1.0 / (1.0 - p)), 0.0)")]},
        "triton", untuned=True),
    paired(
        "tlse",
        """def tlse(y, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * C + i, mask=i < C, other=-float("inf"))
    m = tl.max(v, axis=0)
    tl.store(y + row, m + tl.log(tl.sum(tl.exp(v - m), axis=0)))
""",
        launched("tlse", {"N": [2, 5], "C": [40, 64]}, [out("y", F, "N"), inp("x", F, "N,C"), number("C")], "N", "64", {"N": 128, "C": 64}).replace("[dims]", 'promises = ["C <= 64"]\n[dims]', 1),
        {"padding of a few thousand": [('other=-float("inf")', "other=-3141.5927")]},
        {"powers of two": [("m + tl.log(tl.sum(tl.exp(v - m), axis=0))", "m + 0.6931471805599453 * tl.log2(tl.sum(tl.exp2((v - m) * 1.4426950408889634), axis=0))")]},
        "triton", untuned=True),
    paired(
        "tgroup",
        """def tgroup(y, x, M, N, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    tiles = tl.cdiv(N, BLOCK)
    r = pid // tiles * BLOCK + tl.arange(0, BLOCK)
    c = pid % tiles * BLOCK + tl.arange(0, BLOCK)
    inside = (r[:, None] < M) & (c[None, :] < N)
    v = tl.load(x + r[:, None] * N + c[None, :], mask=inside, other=0.0)
    tl.store(y + r[:, None] * N + c[None, :], v * 2.0 - 1.0, mask=inside)
""",
        launched("tgroup", {"M": [16, 40], "N": [16, 40]}, [out("y", F, "M,N"), inp("x", F, "M,N"), number("M"), number("N")], "ceil_div(M, 16) * ceil_div(N, 16)", "16", {"M": 512, "N": 512}),
        {"groups of two rows": [("    r = pid // tiles * BLOCK + tl.arange(0, BLOCK)\n    c = pid % tiles * BLOCK + tl.arange(0, BLOCK)", "    g = pid // (2 * tiles)\n    r = (g * 2 + pid % 2) * BLOCK + tl.arange(0, BLOCK)\n    c = pid % (2 * tiles) // 2 * BLOCK + tl.arange(0, BLOCK)")]},
        {"groups as large as they are": [("    r = pid // tiles * BLOCK + tl.arange(0, BLOCK)\n    c = pid % tiles * BLOCK + tl.arange(0, BLOCK)", "    g = pid // (2 * tiles)\n    size = tl.minimum(tl.cdiv(M, BLOCK) - 2 * g, 2)\n    within = pid % (2 * tiles)\n    r = (g * 2 + within % size) * BLOCK + tl.arange(0, BLOCK)\n    c = within // size * BLOCK + tl.arange(0, BLOCK)")]},
        "triton", untuned=True),
    paired(
        "ema",
        f"""__global__ void ema(float *m, float *v, const float *g, float b1, float b2, int n) {{
    {AT}
    if (i >= n) return;
    m[i] = b1 * m[i] + (1.0f - b1) * g[i];
    v[i] = b2 * v[i] + (1.0f - b2) * g[i] * g[i];
}}
""",
        flat("ema", [("m", "inout", F, "n"), ("v", "inout", F, "n"), inp("g"), number("b1", "0.9", F), number("b2", "0.999", F), number("n")]),
        {"the new mean is squared": [("(1.0f - b2) * g[i] * g[i]", "(1.0f - b2) * (g[i] * g[i] - 1e-4f * m[i])")]},
        {"differences are added": [("b1 * m[i] + (1.0f - b1) * g[i]", "fmaf(b1, m[i], (1.0f - b1) * g[i])"), ("b2 * v[i] + (1.0f - b2) * g[i] * g[i]", "fmaf(b2, v[i], (1.0f - b2) * (g[i] * g[i]))")]},
        untuned=True),
)  # fmt: skip
