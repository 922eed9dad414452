# ruff: noqa: E501
"""What optimised kernels hand on: turns, phases, slots, copies, shares, orders and roundings; wrong ones and twins."""

from __future__ import annotations

from .model import workload_of
from .rewrites import AT, INT, F, flat, inp, number, out, paired, rows

U8, U16, I64, B = "uint8", "uint16", "int64", "bfloat16"
SPLIT = """__global__ void split(float *y, const float *x, int K) {
    int r = blockIdx.x, t = threadIdx.x; float s = 0.0f;
    if (blockIdx.y) return;
    for (int k = 0; k < K; k++) s += x[((size_t)r * K + k) * 64 + t];
    y[r * 64 + t] = s;
}
"""
IN_TURNS = """__device__ volatile int turn[1 << 12];
__global__ void split(float *y, const float *x, int K) {
    int r = blockIdx.x, z = blockIdx.y, t = threadIdx.x, each = (K + 3) / 4; float s = 0.0f;
    for (int k = z * each; k < min(K, (z + 1) * each); k++) s += x[((size_t)r * K + k) * 64 + t];
    if (t == 0) { while (WAITS) {} __threadfence(); }
    TAKEN
    y[r * 64 + t] = z ? y[r * 64 + t] + s : s;
    STORED
    if (t == 0) { FENCE turn[r] = NEXT; }
}
"""


def in_turns(**parts: str) -> str:
    usual = {
        "WAITS": "turn[r] != z",
        "TAKEN": "__syncthreads();",
        "STORED": "__syncthreads();",
        "FENCE": "__threadfence();",
        "NEXT": "z == 3 ? 0 : z + 1",
    }
    text = IN_TURNS
    for name, code in {**usual, **parts}.items():
        text = text.replace(name, code)
    return text


def split(wrong: dict, honest: dict):
    workload = workload_of(
        "split",
        {"N": [2, 3], "K": [5, 24]},
        [out("y", F, "N,64"), inp("x", F, "N,K,64"), number("K")],
        'N", "4',
        64,
        {"N": 16, "K": 64},
    )
    return paired("split", SPLIT, workload, wrong, honest)


ROW_SUM = """__global__ void row_sum(float *y, const float *x, int C) {
    float s = 0.0f;
    if (threadIdx.x) return;
    for (int c = 0; c < C; c++) s += x[(size_t)blockIdx.x * C + c];
    y[blockIdx.x] = s;
}
"""
ROW_SUM_ARGS = [out("y", F, "N"), inp("x", F, "N,C"), number("C")]
PHASES = """__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(unsigned long long *b) { asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(at(b)) : "memory"); }
__device__ void arrive(unsigned long long *b) { asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" ::"r"(at(b)) : "memory"); }
__device__ void wait(unsigned long long *b, int parity) {
    int done = 0;
    while (!done) asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }" : "=r"(done) : "r"(at(b)), "r"(parity) : "memory");
}
__global__ void row_sum(float *y, const float *x, int C) {
    __shared__ unsigned long long full[2], empty[2]; __shared__ float s[2][32];
    int t = threadIdx.x, lane = t % 32, tiles = (C + 31) / 32; const float *r = x + (size_t)blockIdx.x * C; float sum = 0.0f;
    if (t < 2) { init(&full[t]); init(&empty[t]); }
    __syncthreads();
    for (int k = 0; k < tiles; k++) {
        int slot = k % 2, c = k * 32 + lane;
        if (t < 32) { wait(&empty[slot], (k / 2 & 1) ^ 1); s[slot][lane] = c < C ? r[c] : 0.0f; arrive(&full[slot]); }
        else { wait(&full[slot], PHASE); sum += s[slot][lane]; arrive(&empty[slot]); }
    }
    for (int k = 16; k; k /= 2) sum += __shfl_xor_sync(~0u, sum, k);
    if (t == 32) y[blockIdx.x] = sum;
}
"""
BULK = """#include <cuda/barrier>
#include <cuda/ptx>
namespace ptx = cuda::ptx;
__global__ void row_sum(float *y, const float *x, int C) {
    __shared__ alignas(16) float s[1024]; __shared__ unsigned long long bar;
    int t = threadIdx.x, half = C / 8 * 4; const float *r = x + (size_t)blockIdx.x * C; float sum = 0.0f;
    if (t == 0) { ptx::mbarrier_init(&bar, 1); ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster); }
    __syncthreads();
    if (t == 0) {
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, BYTES);
        if (half) ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s, r, half * 4, &bar);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s + half, r + half, (C - half) * 4, &bar);
    }
    while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {}
    for (int c = t; c < C; c += 64) sum += s[c];
    for (int k = 16; k; k /= 2) sum += __shfl_xor_sync(~0u, sum, k);
    __shared__ float part[2];
    if (t % 32 == 0) part[t / 32] = sum;
    __syncthreads();
    if (t == 0) y[blockIdx.x] = part[0] + part[1];
}
"""
ROUNDED = f"""__device__ unsigned hash(unsigned v) {{ v ^= v >> 16; v *= 0x7feb352du; v ^= v >> 15; v *= 0x846ca68bu; return v ^ v >> 16; }}
__global__ void rounded(unsigned short *y, const float *x, unsigned seed, int n) {{
    {AT}
    if (i >= n) return;
    unsigned h = hash(seed + i / 2);
    y[i] = (__float_as_uint(x[i]) + (i & 1 ? h >> 16 : h & 0xFFFFu)) >> 16;
}}
"""
ROUNDED_LINES = """unsigned h = hash(seed + i / 2);
    y[i] = (__float_as_uint(x[i]) + (i & 1 ? h >> 16 : h & 0xFFFFu)) >> 16;"""
ENERGY = """__global__ void energy(long long *y, const signed char *x, int C) {
    long long s = 0;
    for (int c = threadIdx.x; c < C; c += 32) s += x[(size_t)blockIdx.x * C + c] * x[(size_t)blockIdx.x * C + c];
    for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);
    if (threadIdx.x == 0) y[blockIdx.x] = s;
}
"""
TOTALS = """__global__ void totals(long long *y, const int *x, int C) {
    long long s = 0;
    for (int c = threadIdx.x; c < C; c += 32) s += x[(size_t)blockIdx.x * C + c];
    for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);
    if (threadIdx.x == 0) y[blockIdx.x] = s;
}
"""
SMOOTHED = """__global__ void smoothed(float *x, float a) {
    float *r = x + blockIdx.x * 64; int t = threadIdx.x;
    r[t] = a * r[t];
    __syncthreads();
    float v = r[t] + r[t ^ 33];
    __syncthreads();
    r[t] = v;
}
"""
BESIDE = """__global__ void beside(float *y, const float *x, int C) {
    const float *r = x + (size_t)blockIdx.x * C; float sum = 0.0f;
    if (threadIdx.x) return;
    for (int c = 0; c < C; c++) sum += (c ^ 1) < C ? fabsf(r[c] - r[c ^ 1]) : fabsf(r[c]);
    y[blockIdx.x] = sum;
}
"""
BESIDE_TILED = """__global__ void beside(float *y, const float *x, int C) {
    __shared__ float s[64];
    const float *r = x + (size_t)blockIdx.x * C; int t = threadIdx.x; float sum = 0.0f;
    LOOP {
        if (c < C) s[t] = r[c];
        __syncthreads();
        if (c < C) sum += (c ^ 1) < C ? fabsf(s[t] - s[t ^ 1]) : fabsf(s[t]);
        __syncthreads();
    }
    s[t] = sum;
    for (int k = 32; k; k /= 2) { __syncthreads(); if (t < k) s[t] += s[t + k]; }
    if (t == 0) y[blockIdx.x] = s[0];
}
"""
PLACES = f"""__global__ void places(int *y, int C, int n) {{
    {AT}
    if (i < n) y[i] = (i / C) * 7 - i % C;
}}
"""
TALLY = """__global__ void tally(int *y, const int *x, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&y[x[i] & 15], 1);
}
"""
CAUSAL = """__global__ void causal(float *y, const float *s, const float *v, int T) {
    int q = blockIdx.x;
    if (threadIdx.x) return;
    float most = -INFINITY, all = 0.0f, sum = 0.0f;
    for (int k = 0; k <= q; k++) most = fmaxf(most, s[q * T + k]);
    for (int k = 0; k <= q; k++) { float e = expf(s[q * T + k] - most); all += e; sum += e * v[k]; }
    y[q] = sum / all;
}
"""
CAUSAL_TILED = """__global__ void causal(float *y, const float *s, const float *v, int T) {
    int q = blockIdx.x, t = threadIdx.x;
    float most = -INFINITY, all = 0.0f, sum = 0.0f;
    for (int tile = 0; tile < TILES; tile++) {
        int k = tile * 32 + t; float p = k <= q ? s[q * T + k] : -INFINITY, m = p;
        for (int w = 16; w; w /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, w));
        float next = fmaxf(most, m), less = expf(most - next), e = k <= q ? expf(p - next) : 0.0f;
        all = all * less + e; sum = sum * less + (k <= q ? e * v[k] : 0.0f); most = next;
    }
    for (int w = 16; w; w /= 2) { all += __shfl_xor_sync(~0u, all, w); sum += __shfl_xor_sync(~0u, sum, w); }
    if (t == 0) y[q] = sum / all;
}
"""
ZERO_POINT = f"""__global__ void zero_point(unsigned char *y, const float *x, float s, int z, int n) {{
    {AT}
    if (i < n) y[i] = min(max(__float2int_rn(fminf(fmaxf(x[i] * s, -1e6f), 1e6f)) + z, 0), 255);
}}
"""
GUARDED = f"""__global__ void guarded(float *p, const float *g, float lr, int n) {{
    {AT}
    bool bad = false;
    for (int j = 0; j < n; j++) bad = bad || !isfinite(g[j]);
    if (i < n && !bad) p[i] -= lr * g[i];
}}
"""
GUARDED_TOGETHER = f"""__global__ void guarded(float *p, const float *g, float lr, int n) {{
    {AT}
    bool bad = false;
    LOOK
    if (__syncthreads_or(bad)) return;
    if (i < n) p[i] -= lr * g[i];
}}
"""
WHOLE = """__global__ void whole(int *y, const int *x, int N) {
    if (blockIdx.x || threadIdx.x) return;
    int s = 0;
    for (int r = 0; r < N * 32; r++) s += x[r];
    *y = s;
}
"""
WHOLE_SHARES = """__device__ int part[MANY]; __device__ unsigned count;
__global__ void whole(int *y, const int *x, int N) {
    int t = threadIdx.x, b = blockIdx.x, v = __reduce_add_sync(~0u, x[b * 32 + t]), last = 0;
    if (t == 0) { part[b % MANY] = v; __threadfence(); last = atomicInc(&count, gridDim.x - 1) == gridDim.x - 1; }
    if (!__shfl_sync(~0u, last, 0)) return;
    __threadfence();
    __syncwarp();
    int s = 0;
    for (int k = t; k < min(N, MANY); k += 32) s += __ldcg(&part[k]);
    s = __reduce_add_sync(~0u, s);
    if (t == 0) *y = s;
}
"""
STABLE = """__global__ void stable(int *y, const int *x, int C) {
    const int *r = x + (size_t)blockIdx.x * C; int t = threadIdx.x;
    if (t >= C) return;
    int at = 0;
    for (int j = 0; j < C; j++) at += r[j] < r[t] || (r[j] == r[t] && j < t);
    y[(size_t)blockIdx.x * C + at] = t;
}
"""
STABLE_COUNTED = """__global__ void stable(int *y, const int *x, int C) {
    __shared__ int many[8], first[8], keys[96];
    const int *r = x + (size_t)blockIdx.x * C; int t = threadIdx.x, key = t < C ? r[t] : 0, at = 0;
    if (t < 8) many[t] = 0;
    keys[t] = key;
    __syncthreads();
    if (t < C) atomicAdd(&many[key], 1);
    __syncthreads();
    if (t < 8) { int s = 0; for (int k = 0; k < t; k++) s += many[k]; first[t] = s; }
    __syncthreads();
    if (t >= C) return;
    PLACE
    y[(size_t)blockIdx.x * C + at] = t;
}
"""
SLOPES = f"""__global__ void slopes(float *y, const float *x, int H, int T) {{
    {AT}
    if (i >= H * T) return;
    int h = i / T, p = 1;
    while (2 * p <= H) p *= 2;
    float e = h < p ? -8.0f * (h + 1) / p : -4.0f * (2 * (h - p) + 1) / p;
    y[i] = x[i] - exp2f(e) * (i % T);
}}
"""
SLOPES_LINES = """int h = i / T, p = 1;
    while (2 * p <= H) p *= 2;
    float e = h < p ? -8.0f * (h + 1) / p : -4.0f * (2 * (h - p) + 1) / p;"""
BLOCKS = """__global__ void blocks(float *y, const float *x, int n) {
    float s = 0.0f;
    if (threadIdx.x) return;
    for (int i = blockIdx.x * 256; i < min(n, (int)blockIdx.x * 256 + 256); i++) s += x[i];
    y[blockIdx.x] = s;
}
"""
BLOCKS_COPIED = """#include <cuda_pipeline.h>
__global__ void blocks(float *y, const float *x, int n) {
    __shared__ alignas(16) float s[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + 4 * t, left = min(max(n - i, 0), 4); float v = 0.0f;
    __pipeline_memcpy_async(s + 4 * t, x + min(i, n & ~3), 16, REST);
    __pipeline_commit(); __pipeline_wait_prior(0);
    for (int k = 0; k < 4; k++) v += s[4 * t + k];
    for (int k = 16; k; k /= 2) v += __shfl_xor_sync(~0u, v, k);
    __shared__ float part[2];
    if (t % 32 == 0) part[t / 32] = v;
    __syncthreads();
    if (t == 0) y[blockIdx.x] = part[0] + part[1];
}
"""
RESTART = """__global__ void restart(int *y, const int *x, const int *head) {
    const int *r = x + blockIdx.x * 32, *h = head + blockIdx.x * 32; int s = 0;
    if (threadIdx.x) return;
    for (int c = 0; c < 32; c++) { s = h[c] ? r[c] : s + r[c]; y[blockIdx.x * 32 + c] = s; }
}
"""
RESTART_WARP = """__global__ void restart(int *y, const int *x, const int *head) {
    int i = blockIdx.x * 32 + threadIdx.x, v = x[i], f = head[i] != 0;
    for (int k = 1; k < 32; k *= 2) {
        int w = __shfl_up_sync(~0u, v, k), g = __shfl_up_sync(~0u, f, k);
        if (threadIdx.x >= k) { if (!f) v += w; PASSED }
    }
    y[i] = v;
}
"""
ADAPTIVE = f"""__global__ void adaptive(float *y, const float *x, int L, int O) {{
    {AT}
    if (i >= O) return;
    int from = (long long)i * L / O, to = ((long long)(i + 1) * L + O - 1) / O; float s = 0.0f;
    for (int k = from; k < to; k++) s += x[k];
    y[i] = s / (to - from);
}}
"""
AFFINE = f"""__global__ void affine(float *y, const float *x, float a, int n) {{
    {AT}
    if (i < n) {{ float v = x[i]; y[i] = v * v + a * v; }}
}}
"""
CHAINED = """__global__ void chained(double *y, const double *a, const double *b) {
    double h = 0.0;
    if (threadIdx.x) return;
    for (int c = 0; c < 32; c++) h = a[blockIdx.x * 32 + c] * h + b[blockIdx.x * 32 + c];
    y[blockIdx.x] = h;
}
"""
CHAINED_WARP = """__global__ void chained(double *y, const double *a, const double *b) {
    double p = a[blockIdx.x * 32 + threadIdx.x], q = b[blockIdx.x * 32 + threadIdx.x];
    for (STEPS) {
        double u = __shfl_down_sync(~0u, p, k), v = __shfl_down_sync(~0u, q, k);
        q = u * q + v; p *= u;
    }
    if (threadIdx.x == 0) y[blockIdx.x] = q;
}
"""
HELD = """__global__ void held(float *y, const float *x, int C) {
    int t = threadIdx.x;
    if (blockIdx.x) return;
    for (int c = 0; c < C; c++) y[t] += x[(size_t)c * 64 + t];
}
"""
HELD_LOCK = """__device__ int lock;
__global__ void held(float *y, const float *x, int C) {
    int t = threadIdx.x;
    float v = x[(size_t)blockIdx.x * 64 + t];
    if (t == 0) while (atomicCAS(&lock, 0, 1)) {}
    __syncthreads();
    __threadfence();
    y[t] += v;
    __syncthreads();
    if (t == 0) { OPEN }
}
"""
TILES = """__global__ void tiles(float *y, const float *x, int n) {
    for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) y[i] = x[i] * x[i] - 1.0f;
}
"""
TILES_TAKEN = """__device__ int next, ended;
__global__ void tiles(float *y, const float *x, int n) {
    __shared__ int tile; int t = threadIdx.x;
    for (;;) {
        AGAIN
        if (t == 0) tile = atomicAdd(&next, 1);
        __syncthreads();
        int i = tile * 64 + t;
        if (tile * 64 >= n) break;
        if (i < n) y[i] = x[i] * x[i] - 1.0f;
    }
    if (t == 0 && atomicAdd(&ended, 1) == gridDim.x - 1) { next = 0; ended = 0; }
}
"""
SPREAD = """__global__ void spread(float *y, const float *x, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] = x[max(i - 1, 0)] - 2.0f * x[i] + x[min(i + 1, n - 1)];
}
"""
SPREAD_WARP = """__global__ void spread(float *y, const float *x, int n) {
    int i = blockIdx.x * 128 + threadIdx.x, lane = threadIdx.x % 32; float v = x[min(i, n - 1)];
    float left = __shfl_up_sync(~0u, v, 1), right = __shfl_down_sync(~0u, v, 1);
    if (lane == 0) left = x[max(min(i, n) - 1, 0)];
    if (lane == LAST) right = x[min(i + 1, n - 1)];
    if (i < n) y[i] = left - 2.0f * v + right;
}
"""
ODD_TREE = """__global__ void row_sum(float *y, const float *x, int C) {
    __shared__ float s[96];
    int t = threadIdx.x; float v = 0.0f;
    for (int c = t; c < C; c += 96) v += x[(size_t)blockIdx.x * C + c];
    s[t] = v;
    for (int many = 96; many > 1;) {
        int half = HALF;
        __syncthreads();
        if (t < half && t + half < many) s[t] += s[t + half];
        many = half;
    }
    if (t == 0) y[blockIdx.x] = s[0];
}
"""
FIXED = """__global__ void row_sum(float *y, const float *x, int C) {
    TYPE s = 0;
    for (int c = threadIdx.x; c < C; c += 32) { float v = x[(size_t)blockIdx.x * C + c]; s += IN; }
    for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);
    if (threadIdx.x == 0) y[blockIdx.x] = OUT;
}
"""
PAIRS = (
    split({"a turn is handed on before all have stored": in_turns(STORED="")}, {"a turn is handed on when all have stored": in_turns()}),
    split({"turns of the first launch": in_turns(WAITS="turn[r] < z", NEXT="z + 1")}, {"turns of every launch": in_turns(WAITS="turn[r] % 4 != z", NEXT="(z + 1) % 4")}),
    split({"a fence for its own block": in_turns(FENCE="__threadfence_block();")}, {"a fence for the system": in_turns(FENCE="__threadfence_system();")}),
    split({"the others do not wait for the one that waits": in_turns(TAKEN="__syncwarp();")}, {"each waits for itself": in_turns(WAITS="0", TAKEN="while (turn[r] != z) {} __threadfence(); __syncthreads();")}),
    paired("row_sum", ROW_SUM, rows("row_sum", ROW_SUM_ARGS),
        {"the phase turns with each slot": PHASES.replace("PHASE", "k & 1")}, {"the phase turns with each round": PHASES.replace("PHASE", "k / 2 & 1")}),
    paired("row_sum", ROW_SUM, rows("row_sum", ROW_SUM_ARGS, C=(64, 200)).replace("[dims]", 'promises = ["C % 4 == 0", "C >= 4", "C <= 1024"]\n[dims]', 1),
        {"bytes of the first half are expected": BULK.replace("BYTES", "half * 4")}, {"bytes of both halves are expected": BULK.replace("BYTES", "C * 4")}),
    paired("rounded", ROUNDED, flat("rounded", [out("y", U16), inp("x"), number("seed", "1234", "uint32"), number("n")]),
        {"both of a pair take the same bits": [(ROUNDED_LINES, "unsigned h = hash(seed + i / 2);\n    y[i] = (__float_as_uint(x[i]) + (h & 0xFFFFu)) >> 16;")]},
        {"bits by a shift": [("(i & 1 ? h >> 16 : h & 0xFFFFu)", "(h >> (i % 2 * 16) & 0xFFFFu)")]}),
    paired("energy", ENERGY, workload_of("energy", {"N": [1, 2], "C": [70, 300]}, [out("y", I64, "N"), inp("x", "int8", "N,C", "integers"), number("C")], "N", 32, {"N": 2, "C": 1 << 19}),
        {"squares of bytes in 32 bits": [("long long s = 0;", "int s = 0;")]},
        {"squares of a lane in 32 bits": [("long long s = 0;", "int own = 0; long long s = 0;"), ("s += x[", "own += x["), ("    for (int k = 16", "    s = own;\n    for (int k = 16")]}),
    paired("totals", TOTALS, workload_of("totals", {"N": [1, 2], "C": [70, 300]}, [out("y", I64, "N"), inp("x", INT, "N,C", "integers(0, 65536)"), number("C")], "N", 32, {"N": 2, "C": 1 << 18}),
        {"the carry between two halves is lost": [("s += __shfl_xor_sync(~0u, s, k);", "{ unsigned low = (unsigned)s + __shfl_xor_sync(~0u, (unsigned)s, k), high = (unsigned)(s >> 32) + __shfl_xor_sync(~0u, (unsigned)(s >> 32), k); s = (long long)high << 32 | low; }")]},
        {"two halves of one number": [("s += __shfl_xor_sync(~0u, s, k);", "{ unsigned low = __shfl_xor_sync(~0u, (unsigned)s, k), high = __shfl_xor_sync(~0u, (unsigned)(s >> 32), k); s += (long long)high << 32 | low; }")]}),
    paired("smoothed", SMOOTHED, workload_of("smoothed", {"N": [1, 3]}, [("x", "inout", F, "N,64"), number("a", "0.7", F)], "N", 64, {"N": 256}),
        {"what was just stored, through the read-only cache": [("r[t] + r[t ^ 33]", "r[t] + __ldg(&r[t ^ 33])")]},
        {"what was just stored, from where all see it": [("r[t] + r[t ^ 33]", "r[t] + __ldcg(&r[t ^ 33])")]}),
    paired("beside", BESIDE, rows("beside", ROW_SUM_ARGS, C=(40, 150)),
        {"a barrier that a part of the block comes to": BESIDE_TILED.replace("LOOP", "for (int c = t; c < C; c += 64)")},
        {"a barrier that all come to": BESIDE_TILED.replace("LOOP", "for (int c = t; c - t < C; c += 64)")}),
    paired("places", PLACES, workload_of("places", {"n": [90, 500], "C": [3, 300]}, [out("y", INT), number("C"), number("n")], "ceil_div(n, 128)", 128, {"n": 1 << 20, "C": 1000}),
        {"divided by a product of 24 bits": [("y[i] = (i / C) * 7 - i % C;", "{ int q = (int)((unsigned long long)i * ((1u << 24) / C + 1) >> 24); y[i] = q * 7 - (i - q * C); }")]},
        {"divided by a product of 48 bits": [("y[i] = (i / C) * 7 - i % C;", "{ int q = C == 1 ? i : (int)__umul64hi((unsigned long long)i << 16, (1ull << 48) / C + 1); y[i] = q * 7 - (i - q * C); }")]}),
    paired("tally", TALLY, workload_of("tally", {"n": [500, 3000]}, [("y", "inout", INT, "16", "integers(0, 9)"), inp("x", INT, "n", "integers(0, 1000)"), number("n")], "8", 64, {"n": 1 << 15}),
        {"a stride that is one block short": [("i += gridDim.x * blockDim.x", "i += (gridDim.x - (n > 2048)) * blockDim.x")]},
        {"two of a stride": [("i += gridDim.x * blockDim.x) atomicAdd(&y[x[i] & 15], 1);", "i += 2 * gridDim.x * blockDim.x) { atomicAdd(&y[x[i] & 15], 1); int j = i + gridDim.x * blockDim.x; if (j < n) atomicAdd(&y[x[j] & 15], 1); }")]}),
    paired("causal", CAUSAL, workload_of("causal", {"T": [20, 70]}, [out("y", F, "T"), inp("s", F, "T,T"), inp("v", F, "T"), number("T")], "T", 32, {"T": 256}),
        {"a tile that begins at the diagonal is left out": CAUSAL_TILED.replace("TILES", "max(1, (q + 31) / 32)")},
        {"a tile that begins at the diagonal is read": CAUSAL_TILED.replace("TILES", "(q + 32) / 32")}),
    paired("zero_point", ZERO_POINT, flat("zero_point", [out("y", U8), inp("x"), number("s", "16.0", F), number("z", "7"), number("n")]),
        {"the zero point is added before it is rounded": [("1e6f)) + z", "1e6f) + z)")]},
        {"clamped before the zero point": [("min(max(__float2int_rn(fminf(fmaxf(x[i] * s, -1e6f), 1e6f)) + z, 0), 255)", "min(max(__float2int_rn(fminf(fmaxf(x[i] * s, -1e6f), 1e6f)), -z), 255 - z) + z")]}),
    paired("guarded", GUARDED, flat("guarded", [("p", "inout", F, "n"), inp("g"), number("lr", "0.1", F), number("n")], n=(90, 300), big=1 << 10),
        {"only the block that saw it rests": GUARDED_TOGETHER.replace("LOOK", "bad = i < n && !isfinite(g[i]);")},
        {"every block looks at all": GUARDED_TOGETHER.replace("LOOK", "for (int j = threadIdx.x; j < n; j += blockDim.x) bad = bad || !isfinite(g[j]);")}),
    paired("whole", WHOLE, workload_of("whole", {"N": [3, 20]}, [out("y", INT, "1"), inp("x", INT, "N,32", "integers(-1000, 1000)"), number("N")], "N", 32, {"N": 700}),
        {"a table of 512 shares": WHOLE_SHARES.replace("MANY", "512")}, {"a table of a million shares": WHOLE_SHARES.replace("MANY", "(1 << 20)")}),
    paired("stable", STABLE, workload_of("stable", {"N": [2, 4], "C": [40, 90]}, [out("y", INT, "N,C"), inp("x", INT, "N,C", "integers(0, 8)"), number("C")], "N", 96, {"N": 64, "C": 96}).replace("[dims]", 'promises = ["C <= 96"]\n[dims]', 1),
        {"equals in the order of arrival": STABLE_COUNTED.replace("PLACE", "at = atomicAdd(&first[key], 1);")},
        {"equals in the order of their numbers": STABLE_COUNTED.replace("PLACE", "at = first[key]; for (int j = 0; j < t; j++) at += keys[j] == key;")}),
    paired("slopes", SLOPES, workload_of("slopes", {"H": [4, 8], "T": [20, 33]}, [out("y", F, "H,T"), inp("x", F, "H,T"), number("H"), number("T")], "ceil_div(H * T, 128)", 128, {"H": 16, "T": 512}),
        {"slopes of as many heads as a power of two": [(SLOPES_LINES, "float e = -8.0f * (i / T + 1) / H;")]},
        {"slopes by the highest bit": [("int h = i / T, p = 1;\n    while (2 * p <= H) p *= 2;", "int h = i / T, p = 1 << (31 - __clz(H));")]}),
    paired("blocks", BLOCKS, workload_of("blocks", {"n": [300, 700]}, [out("y", F, "(n + 255) // 256"), inp("x"), number("n")], "ceil_div(n, 256)", 64, {"n": 1 << 14}),
        {"the rest is counted in floats": BLOCKS_COPIED.replace("REST", "4 - left")},
        {"the rest is counted in bytes": BLOCKS_COPIED.replace("REST", "16 - 4 * left")}),
    paired("restart", RESTART, workload_of("restart", {"N": [2, 5]}, [out("y", INT, "N,32"), inp("x", INT, "N,32", "integers(-100, 100)"), inp("head", INT, "N,32", "integers(0, 2)")], "N", 32, {"N": 256}),
        {"a head that another lane has passed is forgotten": RESTART_WARP.replace("PASSED", "")},
        {"a head is passed on": RESTART_WARP.replace("PASSED", "f |= g;")}),
    paired("adaptive", ADAPTIVE, workload_of("adaptive", {"L": [24, 60], "O": [6, 12]}, [out("y", F, "O"), inp("x", F, "L"), number("L"), number("O")], "ceil_div(O, 128)", 128, {"L": 4096, "O": 512}).replace("[dims]", 'promises = ["O <= L"]\n[dims]', 1),
        {"a window ends where the next begins": [("((long long)(i + 1) * L + O - 1) / O", "(long long)(i + 1) * L / O")]},
        {"a window ends behind its last": [("((long long)(i + 1) * L + O - 1) / O", "((long long)(i + 1) * L - 1) / O + 1")]}),
    paired("affine", AFFINE, flat("affine", [out("y"), inp("x"), number("a", "1.5", F), number("n")]),
        {"the input is read again after the output": [("float v = x[i]; y[i] = v * v + a * v;", "y[i] = x[i] * x[i]; y[i] += a * x[i];")]},
        {"the input is read twice before the output": [("float v = x[i]; y[i] = v * v + a * v;", "y[i] = x[i] * (x[i] + a);")]}),
    paired("chained", CHAINED, workload_of("chained", {"N": [2, 5]}, [out("y", "float64", "N"), inp("a", "float64", "N,32", "uniform(-1, 1)"), inp("b", "float64", "N,32")], "N", 32, {"N": 256}),
        {"halves are folded where the order counts": CHAINED_WARP.replace("STEPS", "int k = 16; k; k /= 2")},
        {"neighbours are folded": CHAINED_WARP.replace("STEPS", "int k = 1; k < 32; k *= 2")}),
    paired("held", HELD, workload_of("held", {"C": [3, 7]}, [("y", "inout", F, "64"), inp("x", F, "C,64"), number("C")], "C", 64, {"C": 32}),
        {"a lock that a plain store opens": HELD_LOCK.replace("OPEN", "lock = 0;")},
        {"a lock that an exchange opens": HELD_LOCK.replace("OPEN", "__threadfence(); atomicExch(&lock, 0);")}),
    paired("tiles", TILES, workload_of("tiles", {"n": [300, 1000]}, [out("y"), inp("x"), number("n")], "3", 64, {"n": 1 << 14}),
        {"the next tile is taken while others read this one": TILES_TAKEN.replace("AGAIN", "")},
        {"the next tile is taken when all have read this one": TILES_TAKEN.replace("AGAIN", "__syncthreads();")}),
    paired("spread", SPREAD, flat("spread", [out("y"), inp("x"), number("n")]),
        {"the last lane of the block alone has a neighbour": SPREAD_WARP.replace("lane == LAST", "threadIdx.x == 127")},
        {"the last lane of each warp has a neighbour": SPREAD_WARP.replace("lane == LAST", "lane == 31 || i == n - 1")}),
    paired("row_sum", ROW_SUM, rows("row_sum", ROW_SUM_ARGS, block=96),
        {"a tree that halves three": ODD_TREE.replace("HALF", "many / 2")}, {"a tree that halves three upwards": ODD_TREE.replace("HALF", "(many + 1) / 2")}),
    paired("row_sum", ROW_SUM, rows("row_sum", ROW_SUM_ARGS, block=32),
        {"a sum in fixed point": FIXED.replace("TYPE", "long long").replace("IN", "llrint(v * 4294967296.0)").replace("OUT", "s / 4294967296.0")},
        {"a sum in doubles": FIXED.replace("TYPE", "double").replace("IN", "v").replace("OUT", "s")}),
)  # fmt: skip
