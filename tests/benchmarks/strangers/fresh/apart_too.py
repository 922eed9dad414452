# ruff: noqa: E501
"""Attention with lengths, colours, hashes, scans, stencils, and Triton. Never looked at while the gate changed."""

from dataclasses import replace
from functools import partial

from .. import fresh
from ..kinds.blocks import ground as program
from ..kinds.blocks import launched
from . import AT, ground

each = partial(fresh.each, untuned=True)
DECODE = ground(
    "decode",
    """__global__ void decode(float *y, const float *q, const float *k, const float *v, const int *length, int T, int D) {
    int b = blockIdx.x, d = threadIdx.x, many = length[b];
    float most = -INFINITY, sum = 0.0f, total = 0.0f;
    for (int t = 0; t < many; t++) {
        float s = 0.0f;
        for (int e = 0; e < D; e++) s += q[b * D + e] * k[((size_t)b * T + t) * D + e];
        s *= rsqrtf((float)D);
        float now = fmaxf(most, s), keep = expf(most - now), p = expf(s - now);
        sum = sum * keep + p;
        total = total * keep + p * v[((size_t)b * T + t) * D + d];
        most = now;
    }
    y[b * D + d] = many ? total / sum : 0.0f;
}
""",
    {"B": [2, 3], "T": [5, 20], "D": [32]}, [("y", "output", "float32", "B,D"), ("q", "input", "float32", "B,D"), ("k", "input", "float32", "B,T,D"), ("v", "input", "float32", "B,T,D"), ("length", "input", "int32", "B", "integers(0, T + 1)"), ("T", "scalar", "int32", "T"), ("D", "scalar", "int32", "D")],
    "B", 32, {"B": 16, "T": 128, "D": 32},
)  # fmt: skip
HUE = ground(
    "hue",
    f"""__global__ void hue(float *y, const float *c, int n) {{
    {AT}
    if (i >= n) return;
    float r = c[3 * i], g = c[3 * i + 1], b = c[3 * i + 2];
    float most = fmaxf(r, fmaxf(g, b)), d = most - fminf(r, fminf(g, b));
    float h = 0.0f;
    if (d > 0.0f) h = most == r ? (g - b) / d : most == g ? 2.0f + (b - r) / d : 4.0f + (r - g) / d;
    y[i] = h < 0.0f ? h + 6.0f : h;
}}
""",
    {"n": [70, 300]}, [("y", "output", "float32", "n"), ("c", "input", "float32", "n,3", "uniform"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 64)", 64, {"n": 1 << 16},
)  # fmt: skip
SLOTS = ground(
    "slots",
    f"""__global__ void slots(int *y, const int *x, int B, int n) {{
    {AT}
    if (i >= n) return;
    unsigned h = (unsigned)x[i] * 2654435761u;
    h ^= h >> 15;
    y[i] = (int)(h % (unsigned)B);
}}
""",
    {"n": [64, 300], "B": [10, 64, 127]}, [("y", "output", "int32", "n"), ("x", "input", "int32", "n", "integers(-1000, 1000)"), ("B", "scalar", "int32", "B"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 64)", 64, {"n": 1 << 16, "B": 4096},
)  # fmt: skip
RUNNING = ground(
    "running",
    """__global__ void running(float *y, const float *x, int C) {
    __shared__ float part[64];
    const float *row = x + (size_t)blockIdx.x * C;
    int t = threadIdx.x;
    float before = -INFINITY;
    for (int first = 0; first < C; first += 64) {
        part[t] = first + t < C ? row[first + t] : -INFINITY;
        __syncthreads();
        for (int k = 1; k < 64; k *= 2) {
            float other = t >= k ? part[t - k] : -INFINITY;
            __syncthreads();
            part[t] = fmaxf(part[t], other);
            __syncthreads();
        }
        if (first + t < C) y[(size_t)blockIdx.x * C + first + t] = fmaxf(before, part[t]);
        before = fmaxf(before, part[63]);
        __syncthreads();
    }
}
""",
    {"N": [1, 3], "C": [50, 200]}, [("y", "output", "float32", "N,C"), ("x", "input", "float32", "N,C"), ("C", "scalar", "int32", "C")],
    "N", 64, {"N": 64, "C": 2048},
)  # fmt: skip
RING = ground(
    "ring",
    """__global__ void ring(float *y, const float *x, float k, int H, int W) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;
    if (c >= W) return;
    float m = x[r * W + c];
    float sum = x[(r + 1) % H * W + c] + x[(r + H - 1) % H * W + c] + x[r * W + (c + 1) % W] + x[r * W + (c + W - 1) % W];
    y[r * W + c] = m + k * (sum - 4.0f * m);
}
""",
    {"H": [5, 8], "W": [33, 64]}, [("y", "output", "float32", "H,W"), ("x", "input", "float32", "H,W"), ("k", "scalar", "float32", "0.2"), ("H", "scalar", "int32", "H"), ("W", "scalar", "int32", "W")],
    "ceil_div(W, 32)", 32, {"H": 256, "W": 256},
)  # fmt: skip
RING = replace(RING, workload_text=RING.workload_text.replace('32)"]', '32)", "H"]'))
SMOOTH = program(
    "smooth_loss",
    """def smooth_loss(y, x, target, V, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * V + i, mask=i < V, other=-float("inf"))
    label = tl.load(target + row)
    most = tl.max(v, axis=0)
    log = tl.log(tl.sum(tl.exp(v - most), axis=0)) + most
    at = tl.sum(tl.where(i == label, v, 0.0), axis=0)
    mean = tl.sum(tl.where(i < V, v, 0.0), axis=0) / V
    loss = (1.0 - eps) * (log - at) + eps * (log - mean)
    tl.store(y + row, tl.where(label >= 0, loss, 0.0))
""",
    launched("smooth_loss", {"N": [2, 7], "V": [30, 100]}, [
        ("y", "output", "float32", "N"), ("x", "input", "float32", "N,V"), ("target", "input", "int32", "N", "integers(-1, V)"), ("V", "scalar", "int32", "V"), ("eps", "scalar", "float32", "0.1")], "N", "next_power_of_2(V)", {"N": 256, "V": 2000}),
)  # fmt: skip
CLAMPED = program(
    "clamped",
    """def clamped(y, x, low, high, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    inside = (v >= low) & (v <= high)
    tl.store(y + i, tl.where(inside, v * v, -1.0), mask=i < n)
""",
    launched("clamped", {"n": [60, 300]}, [
        ("y", "output", "float32", "n"), ("x", "input", "float32", "n", "uniform(-2, 2)"), ("low", "scalar", "float32", "-0.7"), ("high", "scalar", "float32", "0.9"), ("n", "scalar", "int32", "n")], "ceil_div(n, 64)", "64", {"n": 1 << 17}),
)  # fmt: skip
PAIRS = (
    *each(DECODE,
        ("the last key is left out", "ends", (("t < many;", "t < min(many, T - 1);"),), (("t < many;", "t < min(many, T);"),)),
        ("no key is divided by nothing", "ends", (("many ? total / sum : 0.0f", "total / sum"),), (("many ? total / sum : 0.0f", "many > 0 ? total / sum : 0.0f"),)),
        ("scores are not below zero", "values", (("float most = -INFINITY,", "float most = 0.0f,"),), (("s *= rsqrtf((float)D);", "s /= sqrtf((float)D);"),))),
    *each(HUE,
        ("ties of green and blue", "ties", (("h < 0.0f ? h + 6.0f", "h < 0.0f || h == 0.0f && d > 0.0f ? h + 6.0f"),), (("most == r ? (g - b) / d : most == g", "r >= g && r >= b ? (g - b) / d : g >= b"),)),
        ("grey divides by zero", "ties", (("if (d > 0.0f) h", "h"),), (("if (d > 0.0f)", "if (d != 0.0f)"),)),
        ("a floor under the range", "cheat", (("d > 0.0f", "d > 1e-4f"),), (("fmaxf(r, fmaxf(g, b))", "fmaxf(fmaxf(r, g), b)"),))),
    *each(SLOTS,
        ("a mask for a remainder", "tail", (("h % (unsigned)B", "h & (unsigned)(B - 1)"),), (("(int)(h % (unsigned)B)", "(int)(h - h / (unsigned)B * (unsigned)B)"),)),
        ("a signed shift", "bits", (("unsigned h = (unsigned)x[i] * 2654435761u;\n    h ^= h >> 15;", "int s = x[i] * (int)2654435761u;\n    unsigned h = s ^ (s >> 15);"),), (("h ^= h >> 15;", "h = h ^ h / 32768u;"),)),
        ("an absolute value first", "bits", (("(unsigned)x[i] *", "(unsigned)abs(x[i]) *"),), (("(unsigned)x[i] * 2654435761u", "2654435761u * (unsigned)x[i]"),))),
    *each(RUNNING,
        ("zero before the first", "values", (("float before = -INFINITY;", "float before = 0.0f;"),), (("fmaxf(before, part[63])", "fmaxf(part[63], before)"),)),
        ("a barrier is missing", "race", (("            float other = t >= k ? part[t - k] : -INFINITY;\n            __syncthreads();", "            float other = t >= k ? part[t - k] : -INFINITY;"),), (("k *= 2", "k += k"),)),
        ("nothing is carried past a part", "tail", (("before = fmaxf(before, part[63]);", "before = part[63];"),), (("fmaxf(before, part[t])", "fmaxf(part[t], before)"),))),
    *each(RING,
        ("a mask for powers of two", "tail", (("(c + 1) % W", "((c + 1) & (W - 1))"),), (("(c + W - 1) % W", "(c ? c - 1 : W - 1)"),)),
        ("the first row has no upper one", "bounds", (("(r + H - 1) % H * W + c", "(r - 1) * W + c"),), (("(r + H - 1) % H", "(r ? r - 1 : H - 1)"),))),
    *each(SMOOTH,
        ("no label is a label", "ends", (("tl.where(label >= 0, loss, 0.0)", "loss"),), (("label >= 0, loss, 0.0", "label < 0, 0.0, loss"),)),
        ("no maximum is taken away", "values", (("most = tl.max(v, axis=0)", "most = 0.0"),), (("tl.exp(v - most)", "tl.exp2((v - most) * 1.4426950408889634)"),)),
        ("the first label is ignored", "ends", (("label >= 0", "label > 0"),), (("label >= 0", "label > -1"),))),
    *each(CLAMPED,
        ("the lower limit is outside", "ends", (("v >= low", "v > low"),), (("(v >= low) & (v <= high)", "(v <= high) & (v >= low)"),)),
        ("the limits are turned round", "cheat", (("(v >= low) & (v <= high)", "tl.abs(v - 0.1) <= 0.8"),), (("inside, v * v, -1.0", "(v < low) | (v > high), -1.0, v * v"),))),
)  # fmt: skip
