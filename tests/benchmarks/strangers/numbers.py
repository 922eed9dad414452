# ruff: noqa: E501
"""Small differences of large terms, ranges of types, epsilons, relations of extents."""

from dataclasses import replace

from .fresh import AT, each, ground
from .kinds.blocks import ROWS, launched
from .kinds.blocks import ground as program
from .model import Ground, Pair


def pointwise(name: str, expression: str, *inputs: str, values: str = "") -> Ground:
    """`y[i]` of inputs of n floats; `values` as they all declare them."""
    declared = ", ".join(f"const float *{i}" for i in inputs)
    text = f"""__global__ void {name}(float *y, {declared}, int n) {{
    {AT}
    if (i < n) y[i] = {expression};
}}
"""
    args = [(i, "input", "float32", "n", *([values] if values else [])) for i in inputs]
    return ground(
        name, text, {"n": [90, 500]}, [("y", "output", "float32", "n"), *args, ("n", "scalar", "int32", "n")],
        "ceil_div(n, 128)", 128, {"n": 1 << 18},
    )  # fmt: skip


EXPM1 = pointwise("less_one", "expm1f(x[i])", "x")
LOG1P = pointwise("of_one_more", "log1pf(x[i])", "x", values="uniform(-0.9, 4)")
VERSINE = pointwise("versine", "2.0f * sinf(0.5f * x[i]) * sinf(0.5f * x[i])", "x")
HALF_ROOT = pointwise("half_root", "x[i] / (sqrtf(1.0f + x[i]) + 1.0f)", "x", values="uniform(0, 1)")
PLAIN = pointwise("plain_less_one", "expf(x[i]) - 1.0f", "x")
CANCELLED = (
    *each(EXPM1, ("an exponential less one", "small differences", (("expm1f(x[i])", "expf(x[i]) - 1.0f"),), (("expm1f(x[i])", "(float)expm1((double)x[i])"),))),
    *each(LOG1P, ("a logarithm of one more", "small differences", (("log1pf(x[i])", "logf(1.0f + x[i])"),), (("log1pf(x[i])", "(float)log1p((double)x[i])"),))),
    *each(VERSINE, ("one less a cosine", "small differences", (("2.0f * sinf(0.5f * x[i]) * sinf(0.5f * x[i])", "1.0f - cosf(x[i])"),), (("2.0f * sinf(0.5f * x[i]) * sinf(0.5f * x[i])", "-2.0f * sinf(0.5f * x[i]) * sinf(-0.5f * x[i])"),))),
    *each(HALF_ROOT, ("a root less one", "small differences", (("x[i] / (sqrtf(1.0f + x[i]) + 1.0f)", "sqrtf(1.0f + x[i]) - 1.0f"),), (("x[i] / (sqrtf(1.0f + x[i]) + 1.0f)", "(float)(x[i] / (sqrt(1.0 + x[i]) + 1.0))"),))),
    *each(PLAIN, ("one less than it was", "small differences", (("expf(x[i]) - 1.0f", "expf(x[i]) - 1.00001f"),), (("expf(x[i]) - 1.0f", "expm1f(x[i])"),))),
)  # fmt: skip

GEOMETRIC = pointwise("geometric", "sqrtf(fabsf(a[i])) * sqrtf(fabsf(b[i]))", "a", "b")
TWICE_OVER = pointwise("twice_over", "a[i] / b[i] / b[i]", "a", "b", values="positive")
ROOT_OF_SQUARES = pointwise("root_of_squares", "sqrtf(a[i] * a[i] + b[i] * b[i])", "a", "b")
TRUNCATED = pointwise("cut", "truncf(x[i])", "x")
FAR = Ground(
    "far",
    EXPM1.source.replace("less_one", "far")
    .replace("float", "double")
    .replace("expm1f(x[i])", "hypot(x[i], 3.0 * x[i])"),
    EXPM1.workload_text.replace("less_one", "far").replace("float32", "float64"),
)
QUOTIENT = ground(
    "quotient",
    f"""__global__ void quotient(float *re, const float *a, const float *b, const float *c, const float *d, int n) {{
    {AT}
    if (i >= n) return;
    if (fabsf(c[i]) >= fabsf(d[i])) {{
        float r = d[i] / c[i];
        re[i] = (a[i] + b[i] * r) / (c[i] + d[i] * r);
    }} else {{
        float r = c[i] / d[i];
        re[i] = (a[i] * r + b[i]) / (c[i] * r + d[i]);
    }}
}}
""",
    {"n": [90, 500]}, [("re", "output", "float32", "n"), *((x, "input", "float32", "n") for x in "abcd"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 128)", 128, {"n": 1 << 18},
)  # fmt: skip
_SMITH = QUOTIENT.source[QUOTIENT.source.index("    if (fabsf") : QUOTIENT.source.rindex("}")]
ANGLE = ground(
    "angle",
    """__global__ void angle(float *y, const float *a, const float *b, int C) {
    if (threadIdx.x) return;
    const float *u = a + (size_t)blockIdx.x * C, *v = b + (size_t)blockIdx.x * C;
    float uv = 0.0f, uu = 0.0f, vv = 0.0f;
    for (int c = 0; c < C; c++) { uv += u[c] * v[c]; uu += u[c] * u[c]; vv += v[c] * v[c]; }
    y[blockIdx.x] = uv / (sqrtf(uu) * sqrtf(vv));
}
""",
    {"N": [2, 5], "C": [20, 70]}, [("y", "output", "float32", "N"), ("a", "input", "float32", "N,C"), ("b", "input", "float32", "N,C"), ("C", "scalar", "int32", "C")],
    "N", 32, {"N": 64, "C": 1024},
)  # fmt: skip
LENGTHS = program(
    "lengths",
    """def lengths(y, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * C + i, mask=i < C, other=0.0)
    most = tl.max(tl.abs(v), axis=0)
    by = tl.where(most > 0.0, most, 1.0)
    tl.store(y + row, by * tl.sqrt(tl.sum((v / by) * (v / by), axis=0)))
""",
    launched("lengths", {"N": [2, 5], "C": [40, 64]}, ROWS, "N", "64", {"N": 256, "C": 64}).replace("[dims]", 'promises = ["C <= 64"]\n[dims]', 1),
)  # fmt: skip
BEYOND = (
    *each(GEOMETRIC, ("a product under one root", "range", (("sqrtf(fabsf(a[i])) * sqrtf(fabsf(b[i]))", "sqrtf(fabsf(a[i] * b[i]))"),), (("sqrtf(fabsf(a[i])) * sqrtf(fabsf(b[i]))", "(float)sqrt(fabs((double)a[i] * b[i]))"),))),
    *each(TWICE_OVER, ("divided by a square", "range", (("a[i] / b[i] / b[i]", "a[i] / (b[i] * b[i])"),), (("a[i] / b[i] / b[i]", "(a[i] / b[i]) * (1.0f / b[i])"),))),
    *each(ROOT_OF_SQUARES, ("a difference of squares", "range", (("b[i] * b[i]", "b[i] * b[i] * 0.9999f"),), (("sqrtf(a[i] * a[i] + b[i] * b[i])", "hypotf(a[i], b[i])"),))),
    *each(TRUNCATED, ("cut off by an integer", "range", (("truncf(x[i])", "copysignf((float)(int)x[i], x[i])"),), (("truncf(x[i])", "x[i] < 0.0f ? ceilf(x[i]) : x[i] > 0.0f ? floorf(x[i]) : x[i]"),))),
    *each(FAR, ("squares of doubles", "range", (("hypot(x[i], 3.0 * x[i])", "sqrt(x[i] * x[i] + 9.0 * x[i] * x[i])"),), (("hypot(x[i], 3.0 * x[i])", "hypot(3.0 * x[i], x[i])"),))),
    *each(QUOTIENT, ("a quotient by the textbook", "range", ((_SMITH, "    re[i] = (a[i] * c[i] + b[i] * d[i]) / (c[i] * c[i] + d[i] * d[i]);\n"),), (("fabsf(c[i]) >= fabsf(d[i])", "!(fabsf(c[i]) < fabsf(d[i]))"),))),
    *each(ANGLE, ("one root of both", "range", (("sqrtf(uu) * sqrtf(vv)", "sqrtf(uu * vv)"),), (("uv / (sqrtf(uu) * sqrtf(vv))", "uv / sqrtf(uu) / sqrtf(vv)"),))),
    Pair("a length without its largest", "range", LENGTHS, (("tl.where(most > 0.0, most, 1.0)", "1.0"),), (("by * tl.sqrt(tl.sum((v / by) * (v / by), axis=0))", "tl.sqrt(tl.sum((v / by) * (v / by), axis=0)) * by"),)),
)  # fmt: skip


DICE = ground(
    "dice",
    """__global__ void dice(float *y, const float *a, const float *b, int C) {
    if (threadIdx.x) return;
    const float *u = a + (size_t)blockIdx.x * C, *v = b + (size_t)blockIdx.x * C;
    float uv = 0.0f, uu = 0.0f, vv = 0.0f;
    for (int c = 0; c < C; c++) { uv += u[c] * v[c]; uu += u[c] * u[c]; vv += v[c] * v[c]; }
    y[blockIdx.x] = 2.0f * uv / fmaxf(uu + vv, 1e-7f);
}
""",
    {"N": [2, 5], "C": [20, 70]}, [("y", "output", "float32", "N"), ("a", "input", "float32", "N,C"), ("b", "input", "float32", "N,C"), ("C", "scalar", "int32", "C")],
    "N", 32, {"N": 64, "C": 1024},
)  # fmt: skip
SOLVED = pointwise(
    "solved",
    "fabsf(a[i] * d[i] - b[i] * c[i]) < 1e-8f ? 0.0f : d[i] / (a[i] * d[i] - b[i] * c[i])",
    "a",
    "b",
    "c",
    "d",
)
MEAN = pointwise("floored_mean", "sqrtf(a[i] * b[i] + 1e-9f)", "a", "b", values="positive")
SCALED = ground(
    "scaled_by_root",
    f"""__global__ void scaled_by_root(float *y, const float *x, const float *v, float eps, int n) {{
    {AT}
    if (i < n) y[i] = x[i] / sqrtf(fmaxf(v[i] * v[i], eps));
}}
""",
    {"n": [90, 500]}, [("y", "output", "float32", "n"), ("x", "input", "float32", "n"), ("v", "input", "float32", "n"), ("eps", "scalar", "float32", "1e-9"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 128)", 128, {"n": 1 << 18},
)  # fmt: skip
LIKENESS = program(
    "likeness",
    """def likeness(y, x, w, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * C + i, mask=i < C, other=0.0)
    u = tl.load(w + row * C + i, mask=i < C, other=0.0)
    both = tl.sqrt(tl.sum(v * v, axis=0)) * tl.sqrt(tl.sum(u * u, axis=0))
    tl.store(y + row, tl.sum(u * v, axis=0) / tl.maximum(both, 1e-8))
""",
    launched("likeness", {"N": [2, 5], "C": [40, 64]}, [*ROWS[:2], ("w", "input", "float32", "N,C"), ROWS[2]], "N", "64", {"N": 256, "C": 64}).replace("[dims]", 'promises = ["C <= 64"]\n[dims]', 1),
)  # fmt: skip
EPSILONS = (
    *each(DICE, ("added, not the larger one", "epsilon", (("fmaxf(uu + vv, 1e-7f)", "(uu + vv + 1e-7f)"),), (("2.0f * uv / fmaxf(uu + vv, 1e-7f)", "uv / (0.5f * fmaxf(uu + vv, 1e-7f))"),))),
    *each(SOLVED, ("solved where it is singular", "epsilon", (("< 1e-8f", "< 5e-9f"),), (("fabsf(a[i] * d[i] - b[i] * c[i]) < 1e-8f ? 0.0f : d[i] / (a[i] * d[i] - b[i] * c[i])", "fabsf(a[i] * d[i] - b[i] * c[i]) < 1e-8f ? 0.0f : 1.0f / ((a[i] * d[i] - b[i] * c[i]) / d[i])"),))),
    *each(MEAN, ("floored, not raised", "epsilon", (("a[i] * b[i] + 1e-9f", "fmaxf(a[i] * b[i], 1e-9f)"),), (("a[i] * b[i] + 1e-9f", "fmaf(a[i], b[i], 1e-9f)"),))),
    *each(SCALED, ("raised, not floored", "epsilon", (("fmaxf(v[i] * v[i], eps)", "v[i] * v[i] + eps"),), (("x[i] / sqrtf(fmaxf(v[i] * v[i], eps))", "x[i] * rsqrtf(fmaxf(v[i] * v[i], eps))"),))),
    Pair("raised by it", "epsilon", LIKENESS, (("tl.maximum(both, 1e-8)", "(both + 1e-8)"),), (("tl.sum(u * v, axis=0) / tl.maximum(both, 1e-8)", "tl.sum(v * u, axis=0) * (1.0 / tl.maximum(both, 1e-8))"),)),
)  # fmt: skip


SHED = ground(
    "shed",
    """__global__ void shed(float *y, const float *x, int C, int ld) {
    for (int c = threadIdx.x; c < C; c += 64) y[(size_t)blockIdx.x * C + c] = x[(size_t)blockIdx.x * ld + c] - x[(size_t)blockIdx.x * ld];
}
""",
    {"N": [2, 5], "C": [48, 80], "S": [80, 96]}, [("y", "output", "float32", "N,C"), ("x", "input", "float32", "N,S"), ("C", "scalar", "int32", "C"), ("ld", "scalar", "int32", "S")],
    "N", 64, {"N": 64, "C": 1024, "S": 1056},
)  # fmt: skip
SHED = replace(SHED, workload_text=SHED.workload_text.replace("[dims]", 'promises = ["C <= S"]\n[dims]', 1))
OUTER = ground(
    "outer",
    """__global__ void outer(float *y, const float *a, const float *b, int N, int C) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= C) return;
    for (int r = 0; r < N; r++) y[(size_t)r * C + c] = a[r] * b[c];
}
""",
    {"N": [6, 11], "C": [40, 70]}, [("y", "output", "float32", "N,C"), ("a", "input", "float32", "N"), ("b", "input", "float32", "C"), ("N", "scalar", "int32", "N"), ("C", "scalar", "int32", "C")],
    "ceil_div(C, 64)", 64, {"N": 512, "C": 512},
)  # fmt: skip
CROPPED = program(
    "cropped",
    """def cropped(y, x, C, S, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    tl.store(y + row * C + i, tl.load(x + row * S + i, mask=i < C) * 0.5, mask=i < C)
""",
    launched("cropped", {"N": [2, 5], "C": [40, 64], "S": [70, 90]}, [(*ROWS[0][:3], "N,C"), ("x", "input", "float32", "N,S"), ROWS[2], ("S", "scalar", "int32", "S")], "N", "64", {"N": 256, "C": 64, "S": 90}).replace("[dims]", 'promises = ["C <= 64", "C <= S"]\n[dims]', 1),
)  # fmt: skip
_FIRST = "x[(size_t)blockIdx.x * ld + c] -"
RELATIONS = (
    *each(SHED,
        ("nearly dense", "relation", ((_FIRST, "x[(size_t)blockIdx.x * (C + 1 >= ld ? C : ld) + c] -"),), ((_FIRST, "x[(size_t)blockIdx.x * (C >= ld ? C : ld) + c] -"),)),
        ("three more", "relation", ((_FIRST, "x[(size_t)blockIdx.x * ld + (ld - C == 3 ? 0 : c)] -"),), ((_FIRST, "x[(size_t)blockIdx.x * ld + (ld - C == 3 ? c : c)] -"),)),
    ),
    *each(OUTER, ("one more row than columns", "relation", (("r < N", "r < (N > C ? 2 * C - N + 2 * (N - C) - (N == C + 1) : N)"),), (("r < N", "r < (N > C ? C + (N - C) : N)"),))),
    Pair("rows that nearly touch", "relation", CROPPED, (("x + row * S + i", "x + row * tl.where(S <= C + 2, C, S) + i"),), (("x + row * S + i", "x + row * tl.where(S <= C, C, S) + i"),)),
)  # fmt: skip
PAIRS = (*CANCELLED, *BEYOND, *EPSILONS, *RELATIONS)
