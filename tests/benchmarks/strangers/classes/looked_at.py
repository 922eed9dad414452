# ruff: noqa: E501
"""Edges of the second axis, identities, products that overflow, NaN, tickets, shares of a grid. Looked at."""

from ..fresh import AT, each, ground
from ..kinds.blocks import ground as program
from ..kinds.blocks import launched

BLUR = ground(
    "blur",
    f"""__global__ void blur(float *y, const float *x, int H, int W) {{
    {AT}
    if (i >= H * W) return;
    int r = i / W, c = i % W;
    float sum = 0.0f;
    for (int a = r - 1; a <= r + 1; a++)
        for (int b = c - 1; b <= c + 1; b++)
            if (a >= 0 && a < H && b >= 0 && b < W) sum += x[a * W + b];
    y[i] = sum;
}}
""",
    {"H": [9, 20], "W": [12, 33]}, [("y", "output", "float32", "H,W"), ("x", "input", "float32", "H,W"), ("H", "scalar", "int32", "H"), ("W", "scalar", "int32", "W")],
    "ceil_div(H * W, 128)", 128, {"H": 512, "W": 512},
)  # fmt: skip
PEAK = ground(
    "peak",
    """__global__ void peak(float *y, const float *x, int C) {
    __shared__ int most;
    float mine = -INFINITY;
    for (int c = threadIdx.x; c < C; c += 64) mine = fmaxf(mine, x[(size_t)blockIdx.x * C + c]);
    __shared__ float part[64];
    part[threadIdx.x] = mine;
    if (threadIdx.x == 0) most = 0xff800000;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = 1; k < 64; k++) mine = fmaxf(mine, part[k]);
        y[blockIdx.x] = mine;
    }
}
""",
    {"N": [2, 5], "C": [70, 300]}, [("y", "output", "float32", "N"), ("x", "input", "float32", "N,C"), ("C", "scalar", "int32", "C")],
    "N", 64, {"N": 128, "C": 2048},
)  # fmt: skip
TREE = """    if (threadIdx.x == 0) {
        for (int k = 1; k < 64; k++) mine = fmaxf(mine, part[k]);
        y[blockIdx.x] = mine;
    }"""
BITS = """    atomicMax(&most, __float_as_int(mine));
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = __int_as_float(most);"""
ORDERED = """    int bits = __float_as_int(mine);
    atomicMax(&most, bits < 0 ? bits ^ 0x7fffffff : bits);
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = __int_as_float(most < 0 ? most ^ 0x7fffffff : most);"""
DOTS = ground(
    "dots",
    f"""__global__ void dots(long long *y, const int *a, const int *b, int N, int C) {{
    {AT}
    if (i >= N) return;
    long long sum = 0;
    for (int c = 0; c < C; c++) sum += (long long)a[i * C + c] * b[i * C + c];
    y[i] = sum;
}}
""",
    {"N": [30, 70], "C": [5, 40]}, [("y", "output", "int64", "N"), ("a", "input", "int32", "N,C", "integers(-60000, 60000)"), ("b", "input", "int32", "N,C", "integers(-60000, 60000)"), ("N", "scalar", "int32", "N"), ("C", "scalar", "int32", "C")],
    "ceil_div(N, 32)", 32, {"N": 1024, "C": 256},
)  # fmt: skip
KNEE = ground(
    "knee",
    f"""__global__ void knee(float *y, const float *x, int n) {{
    {AT}
    if (i < n) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}}
""",
    {"n": [90, 500]}, [("y", "output", "float32", "n"), ("x", "input", "float32", "n"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 128)", 128, {"n": 1 << 18},
)  # fmt: skip
INVERSE = ground(
    "inverse",
    f"""__global__ void inverse(float *y, const float *x, int n) {{
    {AT}
    if (i < n) y[i] = 1.0f / fabsf(x[i]);
}}
""",
    {"n": [90, 500]}, [("y", "output", "float32", "n"), ("x", "input", "float32", "n"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 128)", 128, {"n": 1 << 18},
)  # fmt: skip
LATEST = ground(
    "latest",
    f"""__global__ void latest(float *y, const float *x, const int *slot, int n, int S) {{
    {AT}
    if (i >= S) return;
    float v = 0.0f;
    for (int k = 0; k < n; k++)
        if (slot[k] == i) v = x[k];
    y[i] = v;
}}
""",
    {"n": [40, 90], "S": [64, 300]}, [("y", "output", "float32", "S"), ("x", "input", "float32", "n"), ("slot", "input", "int32", "n", "integers(0, S)"), ("n", "scalar", "int32", "n"), ("S", "scalar", "int32", "S")],
    "ceil_div(S, 64)", 64, {"n": 512, "S": 4096},
)  # fmt: skip
KEEP = ground(
    "keep",
    """__global__ void keep(int *y, const float *x, int n) {
    __shared__ int many[64];
    int t = threadIdx.x, share = (n + 63) / 64, at = 0;
    many[t] = 0;
    for (int k = t * share; k < min(n, (t + 1) * share); k++) many[t] += x[k] > 0.0f;
    __syncthreads();
    for (int s = 0; s < t; s++) at += many[s];
    for (int k = t; k < n; k += 64) y[k] = -1;
    __syncthreads();
    for (int k = t * share; k < min(n, (t + 1) * share); k++)
        if (x[k] > 0.0f) y[at++] = k;
}
""",
    {"n": [50, 64]}, [("y", "output", "int32", "n"), ("x", "input", "float32", "n"), ("n", "scalar", "int32", "n")],
    "1", 64, {"n": 64},
)  # fmt: skip
PLACES = """    for (int s = 0; s < t; s++) at += many[s];
"""
STORES = """    for (int k = t * share; k < min(n, (t + 1) * share); k++)
        if (x[k] > 0.0f) y[at++] = k;
"""
SHARES = ground(
    "shares",
    """__global__ void shares(float *y, const float *x, int n) {
    int share = (n + gridDim.x - 1) / gridDim.x;
    int first = blockIdx.x * share, end = min(n, first + share);
    for (int i = first + threadIdx.x; i < end; i += 64) y[i] = 3.0f * x[i];
}
""",
    {"n": [128, 1024]}, [("y", "output", "float32", "n"), ("x", "input", "float32", "n"), ("n", "scalar", "int32", "n")],
    "4", 64, {"n": 1 << 16},
)  # fmt: skip
SCALED = ground(
    "added",
    f"""__global__ void added(float *y, const float *x, float a, float b, int n) {{
    {AT}
    if (i < n) y[i] = b == 0.0f ? a * x[i] : a * x[i] + b * y[i];
}}
""",
    {"n": [90, 500]}, [("y", "inout", "float32", "n"), ("x", "input", "float32", "n"), ("a", "scalar", "float32", "1.5"), ("b", "scalar", "float32", "0.5"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 128)", 128, {"n": 1 << 18},
)  # fmt: skip
ROLL = ground(
    "roll",
    f"""__global__ void roll(float *y, const float *x, int k, int n) {{
    {AT}
    if (i < n) y[i] = x[((i + k) % n + n) % n];
}}
""",
    {"n": [90, 500]}, [("y", "output", "float32", "n"), ("x", "input", "float32", "n"), ("k", "scalar", "int32", "3"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 128)", 128, {"n": 1 << 18},
)  # fmt: skip
SWISH = ground(
    "swish",
    f"""__global__ void swish(float *y, const float *x, const float *g, int n) {{
    {AT}
    if (i < n) y[i] = g[i] / (1.0f + expf(-x[i]));
}}
""",
    {"n": [90, 500]}, [("y", "output", "float32", "n"), ("x", "input", "float32", "n"), ("g", "input", "float32", "n"), ("n", "scalar", "int32", "n")],
    "ceil_div(n, 128)", 128, {"n": 1 << 18},
)  # fmt: skip
TILES = program(
    "tiles",
    """def tiles(y, x, M, N, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (r[:, None] < M) & (c[None, :] < N)
    v = tl.load(x + r[:, None] * N + c[None, :], mask=inside, other=0.0)
    tl.store(y + c[None, :] * M + r[:, None], v, mask=inside)
""",
    launched("tiles", {"M": [16, 40], "N": [16, 40]}, [
        ("y", "output", "float32", "N,M"), ("x", "input", "float32", "M,N"), ("M", "scalar", "int32", "M"), ("N", "scalar", "int32", "N")],
        "ceil_div(M, 16)", "16", {"M": 512, "N": 512}).replace('grid = ["ceil_div(M, 16)"]', 'grid = ["ceil_div(M, 16)", "ceil_div(N, 16)"]'),
)  # fmt: skip
SECOND = "inside = (r[:, None] < M) & (c[None, :] < N)"
PAIRS = (
    *each(BLUR,
        ("a row's end goes on in the next", "second axis", (("a >= 0 && a < H && b >= 0 && b < W", "a * W + b >= 0 && a * W + b < H * W"),), (("a >= 0 && a < H && b >= 0 && b < W", "(unsigned)a < (unsigned)H && (unsigned)b < (unsigned)W"),)),
        ("columns end where rows do", "second axis", (("a < H && b >= 0 && b < W", "a < H && b >= 0 && b < min(W, 2 * H)"),), (("a < H && b >= 0 && b < W", "b >= 0 && b < W && a < H"),))),
    *each(PEAK,
        ("floats are compared as integers", "identities", ((TREE, BITS),), ((TREE, ORDERED), ("most = 0xff800000", "most = 0x807fffff"))),
        ("the smallest number above zero", "identities", (("mine = -INFINITY", "mine = 1.17549435e-38f"),), (("mine = -INFINITY", "mine = x[(size_t)blockIdx.x * C]"),))),
    *each(DOTS,
        ("products of 32 bits", "overflow", (("(long long)a[i * C + c] * b[i * C + c]", "a[i * C + c] * b[i * C + c]"),), (("(long long)a[i * C + c] * b[i * C + c]", "a[i * C + c] * (long long)b[i * C + c]"),)),
        ("whole numbers are summed as floats", "accumulators", (("long long sum = 0", "float sum = 0.0f"), ("y[i] = sum", "y[i] = (long long)sum")), (("long long sum = 0", "double sum = 0.0"), ("y[i] = sum", "y[i] = (long long)sum")))),
    *each(KNEE, ("a maximum without NaN", "NaN", (("x[i] < 0.0f ? 0.0f : x[i]", "fmaxf(x[i], 0.0f)"),), (("x[i] < 0.0f ? 0.0f : x[i]", "!(x[i] < 0.0f) ? x[i] : 0.0f"),))),
    *each(INVERSE, ("zero below zero keeps its sign", "zeros", (("1.0f / fabsf(x[i])", "1.0f / (x[i] < 0.0f ? -x[i] : x[i])"),), (("1.0f / fabsf(x[i])", "fabsf(1.0f / x[i])"),))),
    *each(LATEST, ("the first of a slot stays", "duplicates", (("if (slot[k] == i) v = x[k];", "if (slot[k] == i) { v = x[k]; break; }"),), (("for (int k = 0; k < n; k++)\n        if (slot[k] == i) v = x[k];", "for (int k = n - 1; k >= 0; k--)\n        if (slot[k] == i) { v = x[k]; break; }"),))),
    *each(KEEP, ("a ticket is a place", "order", (("many[t] = 0;", "many[t] = 0;\n    __shared__ int next;\n    if (t == 0) next = 0;"), (PLACES, ""), (STORES, STORES.replace("y[at++]", "y[atomicAdd(&next, 1)]"))), ((PLACES, PLACES.replace("s = 0; s < t; s++", "s = t - 1; s >= 0; s--")),))),
    *each(SHARES, ("the remainder of a grid", "grid", (("(n + gridDim.x - 1) / gridDim.x", "n / gridDim.x"),), (("(n + gridDim.x - 1) / gridDim.x", "(n - 1) / gridDim.x + 1"),))),
    *each(SCALED, ("zero times what was there", "scalars", (("b == 0.0f ? a * x[i] : a * x[i] + b * y[i]", "a * x[i] + b * y[i]"),), (("b == 0.0f ? a * x[i] : a * x[i] + b * y[i]", "b != 0.0f ? a * x[i] + b * y[i] : a * x[i]"),))),
    *each(ROLL, ("a shift below zero", "scalars", (("((i + k) % n + n) % n", "abs(i + k) % n"),), (("((i + k) % n + n) % n", "(i + k % n + n) % n"),))),
    *each(SWISH, ("a division for small divisors", "precision", (("if (i < n) y[i] = g[i] / (1.0f + expf(-x[i]))", "float e = expf(fminf(x[min(i, n - 1)], 88.0f));\n    if (i < n) y[i] = __fdividef(g[i] * e, 1.0f + e)"),), (("if (i < n) y[i] = g[i] / (1.0f + expf(-x[i]))", "float e = expf(-fabsf(x[min(i, n - 1)]));\n    if (i < n) y[i] = __fdividef(g[i] * (x[i] < 0.0f ? e : 1.0f), 1.0f + e)"),))),
    *each(TILES,
        ("the second axis ends with the first", "second axis", ((SECOND, "inside = (r[:, None] < M) & (c[None, :] < M)"),), ((SECOND, "inside = (c[None, :] < N) & (r[:, None] < M)"),)),
        ("the other dim's stride", "second axis", (("y + c[None, :] * M", "y + c[None, :] * N"),), (("y + c[None, :] * M + r[:, None]", "y + r[:, None] + c[None, :] * M"),))),
)  # fmt: skip
