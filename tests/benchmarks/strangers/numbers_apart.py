# ruff: noqa: E501
"""Ranges, small differences, epsilons and relations of extents on other kernels. Never looked at while the gate changed."""

from dataclasses import replace
from functools import partial

from . import fresh
from .fresh import ground
from .numbers import pointwise

each = partial(fresh.each, untuned=True)
HARMONIC = pointwise("harmonic", "2.0f / (1.0f / a[i] + 1.0f / b[i])", "a", "b", values="positive")
ELLIPTIC = pointwise(
    "elliptic", "a[i] * sqrtf(1.0f + (b[i] / a[i]) * (b[i] / a[i]))", "a", "b", values="positive"
)
SOFTSIGN = pointwise("softsign", "a[i] / (1.0f + fabsf(a[i]))", "a")
GROWTH = pointwise("growth", "expm1f(a[i] * 0.01f) * 100.0f", "a")
SNELL = pointwise("snell", "sqrtf((1.0f - s[i]) * (1.0f + s[i]))", "s", values="uniform(-1, 1)")
DECIBEL = pointwise("decibel", "10.0f * log10f(p[i] + 1e-10f)", "p", values="positive")
PROJECT = ground(
    "project",
    """__global__ void project(float *y, const float *a, const float *b, int C) {
    if (threadIdx.x) return;
    const float *u = a + (size_t)blockIdx.x * C, *v = b + (size_t)blockIdx.x * C;
    float d = 0.0f, n = 0.0f;
    for (int c = 0; c < C; c++) { d += u[c] * v[c]; n += v[c] * v[c]; }
    y[blockIdx.x] = d / fmaxf(n, 1e-9f);
}
""",
    {"N": [3, 6], "C": [24, 60]}, [("y", "output", "float32", "N"), ("a", "input", "float32", "N,C"), ("b", "input", "float32", "N,C"), ("C", "scalar", "int32", "C")],
    "N", 32, {"N": 64, "C": 1024},
)  # fmt: skip
TURN = ground(
    "turn",
    """__global__ void turn(float *y, const float *x, int N, int C) {
    int r = blockIdx.x;
    for (int c = threadIdx.x; c < C; c += 32) y[(size_t)c * N + r] = x[(size_t)r * C + c];
}
""",
    {"N": [3, 6], "C": [24, 60]}, [("y", "output", "float32", "C,N"), ("x", "input", "float32", "N,C"), ("N", "scalar", "int32", "N"), ("C", "scalar", "int32", "C")],
    "N", 32, {"N": 64, "C": 1024},
)  # fmt: skip
MOST = ground(
    "most_of_window",
    """__global__ void most_of_window(float *y, const float *x, int C, int ld) {
    for (int c = threadIdx.x; c < C; c += 32) {
        float s = 0.0f;
        for (int k = c; k <= c + ld - C; k++) s = fmaxf(s, fabsf(x[(size_t)blockIdx.x * ld + k]));
        y[(size_t)blockIdx.x * C + c] = s;
    }
}
""",
    {"N": [3, 6], "C": [24, 60], "S": [60, 72]}, [("y", "output", "float32", "N,C"), ("x", "input", "float32", "N,S"), ("C", "scalar", "int32", "C"), ("ld", "scalar", "int32", "S")],
    "N", 32, {"N": 64, "C": 1024, "S": 1040},
)  # fmt: skip
MOST = replace(MOST, workload_text=MOST.workload_text.replace("[dims]", 'promises = ["C <= S"]\n[dims]', 1))
_AT = "(size_t)c * N + r"
PAIRS = (
    *each(HARMONIC, ("a product of both", "range", (("2.0f / (1.0f / a[i] + 1.0f / b[i])", "2.0f * a[i] * b[i] / (a[i] + b[i])"),), (("1.0f / a[i] + 1.0f / b[i]", "1.0f / b[i] + 1.0f / a[i]"),))),
    *each(ELLIPTIC, ("no quotient before the squares", "range", (("a[i] * sqrtf(1.0f + (b[i] / a[i]) * (b[i] / a[i]))", "sqrtf(a[i] * a[i] + b[i] * b[i])"),), (("1.0f + (b[i] / a[i]) * (b[i] / a[i])", "fmaf(b[i] / a[i], b[i] / a[i], 1.0f)"),))),
    *each(SOFTSIGN, ("a magnitude by its square", "range", (("fabsf(a[i])", "sqrtf(a[i] * a[i])"),), (("a[i] / (1.0f + fabsf(a[i]))", "a[i] / (a[i] < 0.0f ? 1.0f - a[i] : 1.0f + a[i])"),))),
    *each(GROWTH, ("growth less one", "small differences", (("expm1f(a[i] * 0.01f)", "(expf(a[i] * 0.01f) - 1.0f)"),), (("expm1f(a[i] * 0.01f) * 100.0f", "(float)(expm1((double)(a[i] * 0.01f)) * 100.0)"),))),
    *each(SNELL, ("one less a square", "small differences", (("(1.0f - s[i]) * (1.0f + s[i])", "__fsub_rn(1.0f, __fmul_rn(s[i], s[i]))"),), (("(1.0f - s[i]) * (1.0f + s[i])", "(1.0f + s[i]) * (1.0f - s[i])"),))),
    *each(DECIBEL,
        ("a floor instead of a summand", "epsilon", (("p[i] + 1e-10f", "fmaxf(p[i], 1e-10f)"),), (("10.0f * log10f(p[i] + 1e-10f)", "4.34294482f * logf(p[i] + 1e-10f)"),)),
        ("ten times the summand", "epsilon", (("1e-10f", "1e-9f"),), (("p[i] + 1e-10f", "1e-10f + p[i]"),)),
    ),
    *each(PROJECT, ("a summand instead of a floor", "epsilon", (("fmaxf(n, 1e-9f)", "(n + 1e-9f)"),), (("d / fmaxf(n, 1e-9f)", "d * (1.0f / fmaxf(n, 1e-9f))"),))),
    *each(TURN,
        ("nearly square", "relation", ((_AT, "(size_t)c * N + (C - N == 1 && r == N - 1 && c ? r - 1 : r)"),), ((_AT, "(size_t)c * N + min(r, N - 1)"),)),
        ("far wider than high", "relation", ((_AT, "(size_t)c * N + (C >= N * 30 ? 0 : r)"),), ((_AT, "(size_t)c * N + (C >= N * 30 ? r : r)"),)),
    ),
    *each(MOST, ("rows of another stride", "relation", (("blockIdx.x * ld + k", "blockIdx.x * (ld - 1 > C ? ld : C) + k"),), (("k <= c + ld - C", "k < c + ld - C + 1"),))),
    *fresh.each(MOST, ("one too few of two", "relation", (("k <= c + ld - C", "k < c + max(ld - C, 1) + (ld - C > 1)"),), (("k <= c + ld - C", "k < c + 1 + max(ld - C, 0)"),))),
)  # fmt: skip
