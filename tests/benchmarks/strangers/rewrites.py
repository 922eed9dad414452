# ruff: noqa: E501
"""Whole rewrites, wrong and honest: cooperative groups, pipelines, vectors, other orders and other roundings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from .kinds.blocks import HEAD, launched
from .model import Ground, Pair, workload_of

Argument = tuple[str, ...]
Candidate = Mapping[str, Sequence[tuple[str, str]] | str]
"""By what it does: edits, or a whole text."""
AT = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
F, H, INT = "float32", "float16", "int32"
PAIRS: list[Pair] = []


def paired(
    name: str,
    text: str,
    workload: str,
    wrong: Candidate,
    honest: Candidate,
    language: Literal["cuda", "triton"] = "cuda",
    *,
    untuned: bool = False,
) -> Pair:
    """A wrong rewrite, which names the pair, and its honest twin."""
    ground = Ground(name, text if language == "cuda" else HEAD + text, workload, language)
    (title, bad), (_, good) = *wrong.items(), *honest.items()
    return Pair(title, "rewrite", ground, _edits(bad), _edits(good), untuned)


def add(
    name: str,
    text: str,
    workload: str,
    wrong: Candidate,
    honest: Candidate,
    language: Literal["cuda", "triton"] = "cuda",
) -> None:
    """One more pair, named after its wrong candidate."""
    PAIRS.append(paired(name, text, workload, wrong, honest, language))


def _edits(edits: Sequence[tuple[str, str]] | str) -> tuple[tuple[str, str], ...] | str:
    return edits if isinstance(edits, str) else tuple(edits)


def out(name: str, dtype: str = F, shape: str = "n") -> Argument:
    return name, "output", dtype, shape


def inp(name: str, dtype: str = F, shape: str = "n", *values: str) -> Argument:
    return name, "input", dtype, shape, *values


def number(name: str, value: str = "", dtype: str = INT) -> Argument:
    return name, "scalar", dtype, value or name


def flat(name: str, args: list[Argument], n: tuple[int, ...] = (90, 500), big: int = 1 << 18) -> str:
    """A workload over elements, in blocks of 128 threads."""
    return workload_of(name, {"n": list(n)}, args, "ceil_div(n, 128)", 128, {"n": big})


def rows(
    name: str, args: list[Argument], C: tuple[int, ...] = (40, 200), block: int = 64, grid: str = "N"
) -> str:
    """A workload over rows."""
    return workload_of(name, {"N": [2, 5], "C": list(C)}, args, grid, block, {"N": 128, "C": 1024})


add(
    "unpack",
    f"""__global__ void unpack(int *y, const unsigned *x, int n) {{
    {AT}
    if (i < n) y[i] = (int)((x[i] >> 24) * 3u + ((x[i] >> 8) & 255u));
}}
""",
    flat("unpack", [out("y", INT), inp("x", "uint32", "n", "integers(0, 4294967295)"), number("n")]),
    {"signed shift": [("(x[i] >> 24) * 3u", "((int)x[i] >> 24) * 3u")]},
    {
        "byte perm": [
            ("(x[i] >> 24)", "__byte_perm(x[i], 0, 0x4443)"),
            ("((x[i] >> 8) & 255u)", "__byte_perm(x[i], 0, 0x4441)"),
        ]
    },
)
add(
    "satadd",
    f"""__global__ void satadd(signed char *y, const signed char *a, const signed char *b, int n) {{
    {AT}
    if (i < n) {{ int s = a[i] + b[i]; y[i] = s > 127 ? 127 : s < -128 ? -128 : s; }}
}}
""",
    flat(
        "satadd",
        [out("y", "int8"), inp("a", "int8", "n", "integers"), inp("b", "int8", "n", "integers"), number("n")],
    ),
    {"symmetric": [("s < -128 ? -128", "s < -127 ? -127")]},
    {
        "four at once": [
            (
                "if (i < n) {",
                "i *= 4; if (i + 3 < n && ((size_t)a | (size_t)b | (size_t)y) % 4 == 0) { *(unsigned *)(y + i) = __vaddss4(*(const unsigned *)(a + i), *(const unsigned *)(b + i)); return; }\n    for (int e = min(i + 4, n); i < e; i++) {",
            )
        ]
    },
)
add(
    "argmax",
    """__global__ void argmax(int *y, const float *x, int C) {
    if (threadIdx.x) return;
    const float *r = x + (size_t)blockIdx.x * C;
    int b = 0;
    for (int c = 1; c < C; c++) if (r[c] > r[b]) b = c;
    y[blockIdx.x] = b;
}
""",
    rows("argmax", [out("y", INT, "N"), inp("x", F, "N,C"), number("C")], block=32),
    {
        "any of ties": """__global__ void argmax(int *y, const float *x, int C) {
    const float *r = x + (size_t)blockIdx.x * C;
    int t = threadIdx.x, b = min(t, C - 1); float v = r[b];
    for (int c = t + 32; c < C; c += 32) if (r[c] > v) { v = r[c]; b = c; }
    if (r[0] != r[0]) { if (t == 0) y[blockIdx.x] = 0; return; }
    if (v != v) v = -INFINITY;
    for (int c = t + 32; c < C; c += 32) if (r[c] > v) { v = r[c]; b = c; }
    for (int k = 16; k; k /= 2) {
        float o = __shfl_xor_sync(~0u, v, k); int j = __shfl_xor_sync(~0u, b, k);
        if (o > v || (o == v && (t & k))) { v = o; b = j; }
    }
    if (t == 0) y[blockIdx.x] = b;
}
"""
    },
    {
        "lowest of ties": """__global__ void argmax(int *y, const float *x, int C) {
    const float *r = x + (size_t)blockIdx.x * C;
    int t = threadIdx.x, b = 1 << 30; float v = -INFINITY;
    if (r[0] != r[0]) { if (t == 0) y[blockIdx.x] = 0; return; }
    for (int c = t; c < C; c += 32) if (r[c] > v || (r[c] == v && c < b)) { v = r[c]; b = c; }
    for (int k = 16; k; k /= 2) {
        float o = __shfl_xor_sync(~0u, v, k); int j = __shfl_xor_sync(~0u, b, k);
        if (o > v || (o == v && j < b)) { v = o; b = j; }
    }
    if (t == 0) y[blockIdx.x] = b;
}
"""
    },
)
add(
    "tally",
    """__global__ void tally(int *y, const int *k, int n, int B) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&y[k[i]], 1);
}
""",
    workload_of(
        "tally",
        {"n": [90, 300], "B": [40, 64]},
        [
            ("y", "inout", INT, "B", "integers(0, 9)"),
            inp("k", INT, "n", "integers(0, 39)"),
            number("n"),
            number("B"),
        ],
        "ceil_div(n, 128)",
        128,
        {"n": 1 << 16, "B": 64},
    ),
    {
        "leader of a pair": [
            (
                "if (i < n) atomicAdd(&y[k[i]], 1);",
                "if (i < n) { unsigned m = __match_any_sync(__activemask(), k[i]); if ((threadIdx.x & 31) == __ffs(m) - 1) atomicAdd(&y[k[i]], min(__popc(m), 16)); }",
            )
        ]
    },
    {
        "match any": [
            (
                "if (i < n) atomicAdd(&y[k[i]], 1);",
                "unsigned who = __ballot_sync(~0u, i < n);\n    if (i < n) { int b = k[i]; unsigned m = __match_any_sync(who, b); if ((threadIdx.x & 31) == __ffs(m) - 1) atomicAdd(&y[b], __popc(m)); }",
            )
        ]
    },
)
CG = """#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void rowsum(float *y, const float *x, int C) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<TILE>(block);
    __shared__ float p[4];
    float s = 0.0f;
    for (int c = block.thread_rank(); c < C; c += block.size()) s += x[(size_t)blockIdx.x * C + c];
    for (int k = tile.size() / 2; k; k /= 2) s += tile.shfl_down(s, k);
    if (threadIdx.x % 32 == 0) p[threadIdx.x / 32] = s;
    block.sync();
    if (threadIdx.x == 0) y[blockIdx.x] = (p[0] + p[1]) + (p[2] + p[3]);
}
"""
add(
    "rowsum",
    """__global__ void rowsum(float *y, const float *x, int C) {
    __shared__ float p[128];
    float s = 0.0f;
    for (int c = threadIdx.x; c < C; c += 128) s += x[(size_t)blockIdx.x * C + c];
    p[threadIdx.x] = s;
    __syncthreads();
    for (int k = 64; k; k /= 2) { if (threadIdx.x < k) p[threadIdx.x] += p[threadIdx.x + k]; __syncthreads(); }
    if (threadIdx.x == 0) y[blockIdx.x] = p[0];
}
""",
    rows("rowsum", [out("y", F, "N"), inp("x", F, "N,C"), number("C")], block=128),
    {"tile of 16": CG.replace("TILE", "16")},
    {"cooperative groups": CG.replace("TILE", "32")},
)
WELF = """__global__ void variance(float *y, const float *x, int C) {
    int t = threadIdx.x; float m = 0.0f, q = 0.0f; float n = 0.0f;
    for (int c = t; c < C; c += 32) { n += 1.0f; float v = x[(size_t)blockIdx.x * C + c], d = v - m; m += d / n; q += d * (v - m); }
    for (int k = 16; k; k /= 2) {
        float om = __shfl_down_sync(~0u, m, k), oq = __shfl_down_sync(~0u, q, k), on = __shfl_down_sync(~0u, n, k);
        float d = om - m, all = n + on;
        MERGE
    }
    if (t == 0) y[blockIdx.x] = q / C;
}
"""
add(
    "variance",
    """__global__ void variance(float *y, const float *x, int C) {
    if (threadIdx.x) return;
    const float *r = x + (size_t)blockIdx.x * C;
    float m = 0.0f, q = 0.0f;
    for (int c = 0; c < C; c++) m += r[c];
    m /= C;
    for (int c = 0; c < C; c++) q += (r[c] - m) * (r[c] - m);
    y[blockIdx.x] = q / C;
}
""",
    rows("variance", [out("y", F, "N"), inp("x", F, "N,C"), number("C")], block=32),
    {"equal counts": WELF.replace("MERGE", "m = 0.5f * (m + om); q += oq + d * d * n * 0.5f; n = all;")},
    {
        "welford": WELF.replace(
            "MERGE", "if (on > 0.0f) { m += d * on / all; q += oq + d * d * n * on / all; n = all; }"
        )
    },
)
SOFT = """__global__ void softmax(float *y, const float *x, int C) {
    int t = threadIdx.x; const float *r = x + (size_t)blockIdx.x * C;
    float m = -INFINITY, s = 0.0f;
    for (int c = t; c < C; c += 32) { float v = r[c]; if (v > m COND) { s = s * expf(m - v) + 1.0f; m = v; } else s += expf(v - m); }
    for (int k = 16; k; k /= 2) {
        float om = __shfl_xor_sync(~0u, m, k), os = __shfl_xor_sync(~0u, s, k), nm = fmaxf(m, om);
        s = (m == -INFINITY ? (s != s ? s : 0.0f) : s * expf(m - nm)) + (om == -INFINITY ? (os != os ? os : 0.0f) : os * expf(om - nm)); m = nm;
    }
    for (int c = t; c < C; c += 32) y[(size_t)blockIdx.x * C + c] = expf(r[c] - m) / s;
}
"""
add(
    "softmax",
    """__global__ void softmax(float *y, const float *x, int C) {
    if (threadIdx.x) return;
    const float *r = x + (size_t)blockIdx.x * C;
    float m = -INFINITY, s = 0.0f;
    for (int c = 0; c < C; c++) m = fmaxf(m, r[c]);
    for (int c = 0; c < C; c++) s += expf(r[c] - m);
    for (int c = 0; c < C; c++) y[(size_t)blockIdx.x * C + c] = expf(r[c] - m) / s;
}
""",
    rows("softmax", [out("y", F, "N,C"), inp("x", F, "N,C"), number("C")], block=32),
    {"lazy maximum": SOFT.replace("COND", "+ 80.0f || c == t")},
    {"online": SOFT.replace("COND", "")},
)
add(
    "total",
    """__global__ void total(float *y, const float *x, int C) {
    if (threadIdx.x) return;
    float s = 0.0f;
    for (int c = 0; c < C; c++) s += x[(size_t)blockIdx.x * C + c];
    y[blockIdx.x] = s;
}
""",
    rows("total", [out("y", F, "N"), inp("x", F, "N,C"), number("C")], block=32),
    {
        "bfloat16 sums": """#include <cuda_bf16.h>
__global__ void total(float *y, const float *x, int C) {
    if (threadIdx.x) return;
    __nv_bfloat16 s = __float2bfloat16(0.0f); float hi = 0.0f;
    for (int c = 0; c < C; c++) { s = __hadd(s, __float2bfloat16(x[(size_t)blockIdx.x * C + c])); if (c % 8 == 7) { hi += __bfloat162float(s); s = __float2bfloat16(0.0f); } }
    y[blockIdx.x] = hi + __bfloat162float(s);
}
"""
    },
    {
        "kahan": [
            ("float s = 0.0f;", "float s = 0.0f, e = 0.0f;"),
            (
                "s += x[(size_t)blockIdx.x * C + c];",
                "{ float v = x[(size_t)blockIdx.x * C + c] - e, w = s + v; e = (w - s) - v; s = w; }",
            ),
        ]
    },
)
VEC = """__global__ void axpb(float *y, const float *x, float a, int n) {
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 3 < n && ((size_t)x | (size_t)y) % 16 == 0) {
        float4 v = *(const float4 *)(x + i);
        v.x = a * v.x + 1.0f; v.y = a * v.y + 1.0f; v.z = a * v.z + 1.0f; v.w = a * v.w + 1.0f;
        *(float4 *)(y + i) = v;
    } else for (int e = min(i + 4, n); i < e; i++) y[i] = a * x[i] + WHAT;
}
"""
add(
    "axpb",
    f"""__global__ void axpb(float *y, const float *x, float a, int n) {{
    {AT}
    if (i < n) y[i] = a * x[i] + 1.0f;
}}
""",
    flat("axpb", [out("y"), inp("x"), number("a", "1.5", F), number("n")], n=(100, 512)),
    {"residue 3": VEC.replace("WHAT", "(n % 16 == 7 && i == n - 1 ? 2.0f : 1.0f)")},
    {"float4": VEC.replace("WHAT", "1.0f")},
)
PIPE = """#include <cuda_pipeline.h>
__global__ void stencil(float *y, const float *x, int C) {
    __shared__ float s[2][66];
    int t = threadIdx.x; const float *r = x + (size_t)blockIdx.x * C;
    auto load = [&](int b, int at) {
        for (int k = t; k < 66; k += 64) { int c = at + k - 1; if (c >= 0 && c < C) __pipeline_memcpy_async(&s[b][k], r + c, 4); else s[b][k] = 0.0f; }
        __pipeline_commit();
    };
    load(0, 0);
    int b = 0;
    for (int at = 0; at < C; at += 64, b ^= 1) {
        load(b ^ 1, at + 64);
        __pipeline_wait_prior(PRIOR);
        __syncthreads();
        if (at + t < C) y[(size_t)blockIdx.x * C + at + t] = (s[b][t] + s[b][t + 1]) + s[b][t + 2];
        __syncthreads();
    }
}
"""
add(
    "stencil",
    """__global__ void stencil(float *y, const float *x, int C) {
    const float *r = x + (size_t)blockIdx.x * C;
    for (int c = threadIdx.x; c < C; c += 64)
        y[(size_t)blockIdx.x * C + c] = ((c > 0 ? r[c - 1] : 0.0f) + r[c]) + (c + 1 < C ? r[c + 1] : 0.0f);
}
""",
    rows("stencil", [out("y", F, "N,C"), inp("x", F, "N,C"), number("C")]),
    {"waits too little": PIPE.replace("PRIOR", "2")},
    {"cp.async": PIPE.replace("PRIOR", "1")},
)
SPLIT = """__global__ void gemv(float *y, const float *a, const float *x, int N, int K) {
    __shared__ float p[4][32];
    int n = blockIdx.x * 32 + threadIdx.x % 32, g = threadIdx.x / 32;
    float s = 0.0f; int w = EACH;
    if (n < N) for (int k = g * w; k < min(g * w + w, K); k++) s += a[(size_t)k * N + n] * x[k];
    p[g][threadIdx.x % 32] = s;
    __syncthreads();
    if (g == 0 && n < N) y[n] = (p[0][threadIdx.x] + p[1][threadIdx.x]) + (p[2][threadIdx.x] + p[3][threadIdx.x]);
}
"""
add(
    "gemv",
    """__global__ void gemv(float *y, const float *a, const float *x, int N, int K) {
    int n = blockIdx.x * 32 + threadIdx.x;
    if (threadIdx.x >= 32 || n >= N) return;
    float s = 0.0f;
    for (int k = 0; k < K; k++) s += a[(size_t)k * N + n] * x[k];
    y[n] = s;
}
""",
    workload_of(
        "gemv",
        {"N": [20, 70], "K": [16, 64]},
        [out("y", F, "N"), inp("a", F, "K,N"), inp("x", F, "K"), number("N"), number("K")],
        "ceil_div(N, 32)",
        128,
        {"N": 256, "K": 512},
    ),
    {"split loses rest": SPLIT.replace("EACH", "K / 4")},
    {"split k": SPLIT.replace("EACH", "(K + 3) / 4")},
)
add(
    "tohalf",
    """#include <cuda_fp16.h>
__global__ void tohalf(__half *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __float2half(x[i] * 3.0f);
}
""",
    flat("tohalf", [out("y", H), inp("x"), number("n")]),
    {"towards plus": [("__float2half(x[i] * 3.0f)", "__float2half_ru(x[i] * 3.0f)")]},
    {
        "pairs": [
            (
                "if (i < n) y[i] = __float2half(x[i] * 3.0f);",
                "i *= 2;\n    if (i + 1 < n && (size_t)y % 4 == 0) *(__half2 *)(y + i) = __float22half2_rn(make_float2(x[i] * 3.0f, x[i + 1] * 3.0f));\n    else { if (i < n) y[i] = __float2half(x[i] * 3.0f); if (i + 1 < n) y[i + 1] = __float2half(x[i + 1] * 3.0f); }",
            )
        ]
    },
)
add(
    "prod",
    f"""__global__ void prod(float *y, const float *a, const float *b, int n) {{
    {AT}
    if (i < n) y[i] = a[i] * b[i];
}}
""",
    flat("prod", [out("y"), inp("a"), inp("b"), number("n")]),
    {
        "flushed": [
            ("y[i] = a[i] * b[i]", 'asm("mul.ftz.f32 %0, %1, %2;" : "=f"(y[i]) : "f"(a[i]), "f"(b[i]))')
        ]
    },
    {"ldg": [("a[i] * b[i]", "__ldg(a + i) * __ldg(b + i)")]},
)
add(
    "angle",
    f"""__global__ void angle(float *y, const float *a, const float *b, int n) {{
    {AT}
    if (i < n) y[i] = atan2f(a[i], b[i]);
}}
""",
    flat("angle", [out("y"), inp("a"), inp("b"), number("n")]),
    {"plus zero": [("atan2f(a[i], b[i])", "atan2f(a[i] + 0.0f, b[i])")]},
    {"streaming": [("y[i] = atan2f(a[i], b[i])", "__stcs(y + i, atan2f(__ldcs(a + i), __ldcs(b + i)))")]},
)
LAST = """__device__ unsigned done = 0;
__global__ void whole(float *y, const float *x, float *part, int n) {
    __shared__ float p[4]; __shared__ bool last;
    int i = blockIdx.x * 128 + threadIdx.x, t = threadIdx.x;
    float s = i < n ? x[i] : 0.0f;
    for (int k = 16; k; k /= 2) s += __shfl_down_sync(~0u, s, k);
    if (t % 32 == 0) p[t / 32] = s;
    __syncthreads();
    if (t == 0) {
        part[blockIdx.x] = (p[0] + p[1]) + (p[2] + p[3]);
        __threadfence();
        last = COUNT == gridDim.x - 1;
    }
    __syncthreads();
    if (!last || t) return;
    __threadfence();
    s = 0.0f;
    for (int b = 0; b < gridDim.x; b++) s += ((volatile float *)part)[b];
    y[0] = s;
}
"""
add(
    "whole",
    """__global__ void whole(float *y, const float *x, float *part, int n) {
    if (blockIdx.x || threadIdx.x) return;
    float s = 0.0f;
    for (int i = 0; i < n; i++) s += x[i];
    y[0] = s;
}
""",
    flat(
        "whole", [out("y", F, "1"), inp("x"), ("part", "scratch", F, "(n+127)//128"), number("n")], big=4096
    ),
    {"never reset": LAST.replace("COUNT", "atomicAdd(&done, 1) % 1048576")},
    {"last block": LAST.replace("COUNT", "atomicInc(&done, gridDim.x - 1)")},
)
SHIFT = """__global__ void shift(float *x, int C) {
    __shared__ float s[1024];
    float *r = x + (size_t)blockIdx.x * C;
    for (int c = threadIdx.x; c < C; c += 128) s[c] = r[c];
    BAR
    for (int c = threadIdx.x; c < C; c += 128) r[c] = s[c ? c - 1 : C - 1];
}
"""
add(
    "shift",
    SHIFT.replace("BAR", "__syncthreads();"),
    rows("shift", [("x", "inout", F, "N,C"), number("C")], block=128).replace(
        "[dims]", 'promises = ["C <= 1024"]\n[dims]', 1
    ),
    {"warp barrier": [("__syncthreads();", "__syncwarp();")]},
    {"named barrier": [("__syncthreads();", 'asm volatile("bar.sync 1, 128;" ::: "memory");')]},
)
add(
    "mean2",
    f"""__global__ void mean2(int *y, const int *a, const int *b, int n) {{
    {AT}
    if (i < n) y[i] = (int)(((long long)a[i] + b[i]) >> 1);
}}
""",
    flat(
        "mean2",
        [
            out("y", INT),
            inp("a", INT, "n", "integers(-2147483648, 2147483647)"),
            inp("b", INT, "n", "integers(-2147483648, 2147483647)"),
            number("n"),
        ],
    ),
    {"unsigned": [("(int)(((long long)a[i] + b[i]) >> 1)", "a[i] / 2 + b[i] / 2 + (a[i] & b[i] & 1)")]},
    {"bits": [("(int)(((long long)a[i] + b[i]) >> 1)", "(a[i] & b[i]) + ((a[i] ^ b[i]) >> 1)")]},
)
add(
    "second",
    """__global__ void second(float *y, const float *x, int C) {
    if (threadIdx.x) return;
    const float *r = x + (size_t)blockIdx.x * C;
    float a = -INFINITY, b = -INFINITY;
    for (int c = 0; c < C; c++) { float v = r[c]; if (v > a) { b = a; a = v; } else if (v > b) b = v; }
    y[2 * blockIdx.x] = a; y[2 * blockIdx.x + 1] = b;
}
""",
    rows("second", [out("y", F, "N,2"), inp("x", F, "N,C"), number("C")], block=32),
    {"distinct": [("else if (v > b)", "else if (v > b && v < a)")]},
    {"by distance": [("v > a", "!(v <= a || v != v)")]},
)
add(
    "matmul",
    """def matmul(c, a, b, M, N, K, BLOCK: tl.constexpr):
    rm = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    rn = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        rk = k + tl.arange(0, BLOCK)
        x = tl.load(a + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        w = tl.load(b + rk[:, None] * N + rn[None, :], mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(x, w, acc, input_precision="ieee")
    tl.store(c + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))
""",
    launched(
        "matmul",
        {"M": [16, 20], "N": [16, 25], "K": [32, 50]},
        [out("c", F, "M,N"), inp("a", F, "M,K"), inp("b", F, "K,N"), number("M"), number("N"), number("K")],
        "ceil_div(M, 16)",
        "16",
        {"M": 64, "N": 64, "K": 128},
    ).replace('grid = ["ceil_div(M, 16)"]', 'grid = ["ceil_div(M, 16)", "ceil_div(N, 16)"]'),
    {"tf32": [('"ieee"', '"tf32"')]},
    {
        "block pointers": HEAD
        + """def matmul(c, a, b, M, N, K, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK
    n = tl.program_id(1) * BLOCK
    pa = tl.make_block_ptr(a, shape=(M, K), strides=(K, 1), offsets=(m, 0), block_shape=(BLOCK, BLOCK), order=(1, 0))
    pb = tl.make_block_ptr(b, shape=(K, N), strides=(N, 1), offsets=(0, n), block_shape=(BLOCK, BLOCK), order=(1, 0))
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        x = tl.load(pa, boundary_check=(0, 1), padding_option="zero")
        w = tl.load(pb, boundary_check=(0, 1), padding_option="zero")
        acc += tl.dot(x, w, input_precision="ieee")
        pa = tl.advance(pa, (0, BLOCK))
        pb = tl.advance(pb, (BLOCK, 0))
    pc = tl.make_block_ptr(c, shape=(M, N), strides=(N, 1), offsets=(m, n), block_shape=(BLOCK, BLOCK), order=(1, 0))
    tl.store(pc, acc, boundary_check=(0, 1))
"""
    },
    "triton",
)
PERS = (
    HEAD
    + """def silu(y, x, n, BLOCK: tl.constexpr):
    for tile in range(tl.program_id(0), TILES, tl.num_programs(0)):
        i = tile * BLOCK + tl.arange(0, BLOCK)
        v = tl.load(x + i, mask=i < n, other=0.0)
        tl.store(y + i, v * tl.sigmoid(v), mask=i < n)
"""
)
add(
    "silu",
    """def silu(y, x, n, BLOCK: tl.constexpr):
    for at in range(tl.program_id(0) * BLOCK, n, BLOCK * 4):
        i = at + tl.arange(0, BLOCK)
        v = tl.load(x + i, mask=i < n, other=0.0)
        tl.store(y + i, v / (1.0 + tl.exp(-v)), mask=i < n)
""",
    launched("silu", {"n": [256, 1000]}, [out("y"), inp("x"), number("n")], "4", "64", {"n": 1 << 16}),
    {"whole tiles": PERS.replace("TILES", "tl.maximum(n // BLOCK, 1)")},
    {"persistent": PERS.replace("TILES", "tl.cdiv(n, BLOCK)")},
    "triton",
)

add(
    "movavg",
    """__global__ void movavg(float *y, const float *x, int C, int w) {
    const float *r = x + (size_t)blockIdx.x * C;
    for (int c = threadIdx.x; c < C; c += 64) {
        float s = 0.0f; int from = max(c - w + 1, 0);
        for (int k = from; k <= c; k++) s += r[k];
        y[(size_t)blockIdx.x * C + c] = s / (c - from + 1);
    }
}
""",
    rows("movavg", [out("y", F, "N,C"), inp("x", F, "N,C"), number("C"), number("w", "5")]),
    {"first window": [("max(c - w + 1, 0)", "max(c - w + (c == w ? 0 : 1), 0)")]},
    {"reversed": [("for (int k = from; k <= c; k++)", "for (int k = c; k >= from; k--)")]},
)
add(
    "crc",
    f"""__global__ void crc(unsigned *y, const unsigned char *x, int n) {{
    {AT}
    if (i >= n) return;
    unsigned h = 2166136261u;
    for (int k = 0; k < 4; k++) h = (h ^ x[4 * i + k]) * 16777619u;
    y[i] = h;
}}
""",
    workload_of(
        "crc",
        {"n": [90, 500]},
        [out("y", "uint32"), inp("x", "uint8", "4*n", "integers"), number("n")],
        "ceil_div(n, 128)",
        128,
        {"n": 1 << 14},
    ),
    {"signed bytes": [("(h ^ x[4 * i + k])", "(h ^ (unsigned)(signed char)x[4 * i + k])")]},
    {
        "word load": [
            (
                "for (int k = 0; k < 4; k++) h = (h ^ x[4 * i + k]) * 16777619u;",
                "unsigned w = x[4 * i] | x[4 * i + 1] << 8 | x[4 * i + 2] << 16 | (unsigned)x[4 * i + 3] << 24;\n    for (int k = 0; k < 4; k++, w >>= 8) h = (h ^ (w & 255u)) * 16777619u;",
            )
        ]
    },
)
add(
    "bias_relu",
    """#include <cuda_fp16.h>
__global__ void bias_relu(__half *y, const __half *x, const __half *b, int N, int C) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N * C) y[i] = __float2half(fmaxf(__half2float(x[i]) + __half2float(b[i % C]), 0.0f));
}
""",
    rows(
        "bias_relu",
        [out("y", H, "N,C"), inp("x", H, "N,C"), inp("b", H, "C"), number("N"), number("C")],
        grid="ceil_div(N * C, 128)",
        block=128,
        C=(40, 65),
    ),
    {"pairs of an odd row": [("b[i % C]", "b[(i / 2 * 2 % C + i % 2) % (C + (C & 1))]")]},
    {
        "half2": [
            (
                "if (i < N * C) y[i] = __float2half(fmaxf(__half2float(x[i]) + __half2float(b[i % C]), 0.0f));",
                "i *= 2;\n    if (C % 2 == 0 && ((size_t)x | (size_t)y | (size_t)b) % 4 == 0) {\n        if (i < N * C) { float2 u = __half22float2(*(const __half2 *)(x + i)), v = __half22float2(*(const __half2 *)(b + i % C)); *(__half2 *)(y + i) = __floats2half2_rn(fmaxf(u.x + v.x, 0.0f), fmaxf(u.y + v.y, 0.0f)); }\n        return;\n    }\n    for (int e = min(i + 2, N * C); i < e; i++) y[i] = __float2half(fmaxf(__half2float(x[i]) + __half2float(b[i % C]), 0.0f));",
            )
        ]
    },
)
add(
    "scan",
    """__global__ void scan(float *y, const float *x, int C) {
    if (threadIdx.x) return;
    float s = 0.0f;
    for (int c = 0; c < C; c++) { s += x[(size_t)blockIdx.x * C + c]; y[(size_t)blockIdx.x * C + c] = s; }
}
""",
    rows("scan", [out("y", F, "N,C"), inp("x", F, "N,C"), number("C")], block=32),
    {
        "no lane guard": """__global__ void scan(float *y, const float *x, int C) {
    int t = threadIdx.x; float carry = 0.0f;
    for (int at = 0; at < C; at += 32) {
        float v = at + t < C ? x[(size_t)blockIdx.x * C + at + t] : 0.0f;
        for (int k = 1; k < 32; k *= 2) { float o = __shfl_up_sync(~0u, v, k); if (t >= k || k == 16) v += k == 16 && t < k ? 0.0f * o : o; }
        if (at + t < C) y[(size_t)blockIdx.x * C + at + t] = carry + v;
        carry = __shfl_sync(~0u, v, 31);
    }
}
"""
    },
    {
        "warp scan": """__global__ void scan(float *y, const float *x, int C) {
    int t = threadIdx.x; float carry = 0.0f;
    for (int at = 0; at < C; at += 32) {
        float v = at + t < C ? x[(size_t)blockIdx.x * C + at + t] : 0.0f;
        for (int k = 1; k < 32; k *= 2) { float o = __shfl_up_sync(~0u, v, k); if (t >= k) v += o; }
        v += carry;
        if (at + t < C) y[(size_t)blockIdx.x * C + at + t] = v;
        carry = __shfl_sync(~0u, v, 31);
    }
}
"""
    },
)
add(
    "gather2",
    """__global__ void gather2(float *y, const float *t, const int *ix, int n, int D) {
    int i = blockIdx.x;
    for (int d = threadIdx.x; d < D; d += 32) y[(size_t)i * D + d] = 0.5f * (t[(size_t)ix[2 * i] * D + d] + t[(size_t)ix[2 * i + 1] * D + d]);
}
""",
    workload_of(
        "gather2",
        {"n": [9, 20], "D": [30, 64]},
        [
            out("y", F, "n,D"),
            inp("t", F, "50,D"),
            inp("ix", INT, "n,2", "integers(0, 49)"),
            number("n"),
            number("D"),
        ],
        "n",
        32,
        {"n": 256, "D": 256},
    ),
    {
        "equal indices once": [
            (
                "0.5f * (t[(size_t)ix[2 * i] * D + d] + t[(size_t)ix[2 * i + 1] * D + d])",
                "ix[2 * i] == ix[2 * i + 1] ? 0.5f * t[(size_t)ix[2 * i] * D + d] : 0.5f * (t[(size_t)ix[2 * i] * D + d] + t[(size_t)ix[2 * i + 1] * D + d])",
            )
        ]
    },
    {
        "int2 index": [
            ("for (int d", "int2 p = make_int2(__ldg(ix + 2 * i), __ldg(ix + 2 * i + 1));\n    for (int d"),
            ("ix[2 * i] * D", "p.x * D"),
            ("ix[2 * i + 1] * D", "p.y * D"),
        ]
    },
)
add(
    "l2",
    """__global__ void l2(float *y, const float *x, int C) {
    if (threadIdx.x) return;
    float s = 0.0f;
    for (int c = 0; c < C; c++) s += x[(size_t)blockIdx.x * C + c] * x[(size_t)blockIdx.x * C + c];
    atomicAdd(y, s);
}
""",
    rows("l2", [("y", "inout", F, "1"), inp("x", F, "N,C"), number("C")], block=32),
    {"race": [("atomicAdd(y, s);", "if (s > 0.0f) *y = *y + s; else atomicAdd(y, s);")]},
    {
        "warp first": [
            ("if (threadIdx.x) return;\n", ""),
            ("int c = 0; c < C; c++", "int c = threadIdx.x; c < C; c += 32"),
            (
                "atomicAdd(y, s);",
                "for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);\n    if (threadIdx.x == 0) atomicAdd(y, s);",
            ),
        ]
    },
)
add(
    "strided2",
    """__global__ void strided2(float *y, const float *x, int R, int C, int sr, int sc) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;
    if (c < C) y[(size_t)r * C + c] = x[(size_t)r * sr + (size_t)c * sc] * 2.0f;
}
""",
    workload_of(
        "strided2",
        {"R": [3, 7], "C": [20, 70]},
        [
            out("y", F, "R,C"),
            inp("x", F, "C,R"),
            number("R"),
            number("C"),
            number("sr", "1"),
            number("sc", "R"),
        ],
        "ceil_div(C, 64)",
        64,
        {"R": 64, "C": 256},
    ).replace('grid = ["ceil_div(C, 64)"]', 'grid = ["ceil_div(C, 64)", "R"]'),
    {
        "contiguous when square": [
            (
                "(size_t)r * sr + (size_t)c * sc",
                "(R == C ? (size_t)r * C + c : (size_t)r * sr + (size_t)c * sc)",
            )
        ]
    },
    {
        "tile": """__global__ void strided2(float *y, const float *x, int R, int C, int sr, int sc) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;
    if (c >= C) return;
    const float *p = x + (size_t)c * sc;
    y[(size_t)r * C + c] = __ldg(p + (size_t)r * sr) * 2.0f;
}
"""
    },
)
add(
    "tcum",
    """def tcum(y, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * C + i, mask=i < C, other=0.0)
    tl.store(y + row * C + i, tl.cumsum(v, axis=0), mask=i < C)
""",
    launched(
        "tcum",
        {"N": [2, 5], "C": [40, 64]},
        [out("y", F, "N,C"), inp("x", F, "N,C"), number("C")],
        "N",
        "64",
        {"N": 128, "C": 64},
    ).replace("[dims]", 'promises = ["C <= 64"]\n[dims]', 1),
    {
        "exclusive of last": [
            ("tl.cumsum(v, axis=0)", "tl.cumsum(v, axis=0) - tl.where(i == C - 1, v * 1e-3, 0.0)")
        ]
    },
    {
        "associative": HEAD.replace(
            "@triton.jit\n", "@triton.jit\ndef add(a, b):\n    return a + b\n\n\n@triton.jit\n"
        )
        + """def tcum(y, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * C + i, mask=i < C, other=0.0)
    tl.store(y + row * C + i, tl.associative_scan(v, 0, add), mask=i < C)
"""
    },
    "triton",
)
add(
    "tgelu",
    """def tgelu(y, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, 0.5 * v * (1.0 + tl.erf(v * 0.7071067811865476)), mask=i < n)
""",
    launched(
        "tgelu",
        {"n": [100, 300]},
        [out("y"), inp("x"), number("n")],
        "ceil_div(n, 128)",
        "128",
        {"n": 1 << 16},
    ),
    {
        "tanh form": [
            (
                "0.5 * v * (1.0 + tl.erf(v * 0.7071067811865476))",
                "v * tl.sigmoid(1.5957691216 * (v + 0.044715 * v * v * v))",
            )
        ]
    },
    {
        "two rows": [
            (
                "0.5 * v * (1.0 + tl.erf(v * 0.7071067811865476))",
                "0.5 * v + 0.5 * v * tl.erf(0.7071067811865476 * v)",
            )
        ]
    },
    "triton",
)
add(
    "targ",
    """def targ(y, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * C + i, mask=i < C, other=float("inf"))
    tl.store(y + row, tl.min(v, axis=0) * 3.0)
""",
    launched(
        "targ",
        {"N": [2, 5], "C": [40, 64]},
        [out("y", F, "N"), inp("x", F, "N,C"), number("C")],
        "N",
        "64",
        {"N": 128, "C": 64},
    ).replace("[dims]", 'promises = ["C <= 64"]\n[dims]', 1),
    {"large other": [('float("inf")', "1e6")]},
    {
        "max of minus": [
            ('other=float("inf")', 'other=float("inf")'),
            ("tl.min(v, axis=0) * 3.0", "-tl.max(-v, axis=0) * 3.0"),
        ]
    },
    "triton",
)
