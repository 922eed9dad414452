# ruff: noqa: E501
"""Triton: masks, strides, precision and atomics."""

from ..model import Ground, Pair, workload_of

HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"


def ground(name: str, text: str, workload: str) -> Ground:
    return Ground(name, HEAD + text, workload, "triton")


def launched(name: str, dims: dict, args: list, grid: str, block: str, large: dict) -> str:
    text = workload_of(name, dims, args, grid, 0, large).replace('"cuda"', '"triton"')
    return text.replace("block = [0]", f'constexpr = {{ BLOCK = "{block}" }}\nnum_warps = 2')


ROWS = [("y", "output", "float32", "N"), ("x", "input", "float32", "N,C"), ("C", "scalar", "int32", "C")]
MOST = ground(
    "row_max",
    """def row_max(y, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    most = tl.full((BLOCK,), -float("inf"), tl.float32)
    for first in range(0, C, BLOCK):
        i = first + tl.arange(0, BLOCK)
        most = tl.maximum(most, tl.load(x + row * C + i, mask=i < C, other=-float("inf")))
    tl.store(y + row, tl.max(most, axis=0))
""",
    launched("row_max", {"N": [1, 3], "C": [40, 200]}, ROWS, "N", "64", {"N": 256, "C": 2000}),
)
ADD = ground(
    "scaled_add",
    """def scaled_add(y, x, sx, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for first in range(0, C, BLOCK):
        i = first + tl.arange(0, BLOCK)
        v = tl.load(x + row * sx + i, mask=i < C, other=0.0)
        tl.store(y + row * C + i, v * 2.0 + 1.0, mask=i < C)
""",
    launched("scaled_add", {"N": [1, 5], "C": [30, 64], "S": [64, 70]}, [
        ("y", "output", "float32", "N,C"), ("x", "input", "float32", "N,S"),
        ("sx", "scalar", "int32", "S"), ("C", "scalar", "int32", "C")], "N", "64", {"N": 256, "C": 512, "S": 512}).replace("[dims]", 'promises = ["C <= S"]\n[dims]', 1),
)  # fmt: skip
DOT = ground(
    "product",
    """def product(c, a, b, M, N, K, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        i = k + tl.arange(0, BLOCK)
        left = tl.load(a + rows[:, None] * K + i[None, :], mask=(rows[:, None] < M) & (i[None, :] < K), other=0.0)
        right = tl.load(b + i[:, None] * N + columns[None, :], mask=(i[:, None] < K) & (columns[None, :] < N), other=0.0)
        total += tl.dot(left, right)
    tl.store(c + rows[:, None] * N + columns[None, :], total, mask=(rows[:, None] < M) & (columns[None, :] < N))
""",
    launched("product", {"M": [16, 20], "N": [16, 25], "K": [32, 50]}, [
        ("c", "output", "float32", "M,N"), ("a", "input", "float16", "M,K"), ("b", "input", "float16", "K,N"),
        ("M", "scalar", "int32", "M"), ("N", "scalar", "int32", "N"), ("K", "scalar", "int32", "K")],
        "ceil_div(M, 16)", "16", {"M": 256, "N": 256, "K": 512}).replace('grid = ["ceil_div(M, 16)"]', 'grid = ["ceil_div(M, 16)", "ceil_div(N, 16)"]'),
)  # fmt: skip
NORMAL = ground(
    "rms",
    """def rms(y, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    squares = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, C, BLOCK):
        i = first + tl.arange(0, BLOCK)
        v = tl.load(x + row * C + i, mask=i < C, other=0.0).to(tl.float32)
        squares += v * v
    scale = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / C + 1e-6)
    for first in range(0, C, BLOCK):
        i = first + tl.arange(0, BLOCK)
        v = tl.load(x + row * C + i, mask=i < C, other=0.0).to(tl.float32)
        tl.store(y + row * C + i, (v * scale).to(tl.float16), mask=i < C)
""",
    launched("rms", {"N": [1, 3], "C": [50, 192]}, [
        ("y", "output", "float16", "N,C"), ("x", "input", "float16", "N,C"), ("C", "scalar", "int32", "C")],
        "N", "64", {"N": 128, "C": 1500}),
)  # fmt: skip
SUMS = ground(
    "column_sums",
    """def column_sums(y, x, N, C, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.program_id(1)
    tl.atomic_add(y + i, tl.load(x + row * C + i, mask=i < C, other=0.0), mask=i < C)
""",
    launched("column_sums", {"N": [1, 6], "C": [40, 130]}, [
        ("y", "inout", "float32", "C"), ("x", "input", "float32", "N,C"),
        ("N", "scalar", "int32", "N"), ("C", "scalar", "int32", "C")],
        "ceil_div(C, 64)", "64", {"N": 512, "C": 256}).replace('grid = ["ceil_div(C, 64)"]', 'grid = ["ceil_div(C, 64)", "N"]'),
)  # fmt: skip
DROP = ground(
    "drop",
    """def drop(y, x, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, tl.where(tl.rand(seed, i) > p, v / (1.0 - p), 0.0), mask=i < n)
""",
    launched("drop", {"n": [60, 300]}, [
        ("y", "output", "float32", "n"), ("x", "input", "float32", "n"), ("n", "scalar", "int32", "n"),
        ("p", "scalar", "float32", "0.25"), ("seed", "scalar", "int32", "77")], "ceil_div(n, 64)", "64", {"n": 1 << 17}),
)  # fmt: skip
GATED = ground(
    "gated",
    """def gated(y, a, b, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(a + i, mask=i < n, other=0.0).to(tl.float32)
    u = tl.load(b + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y + i, (g / (1.0 + tl.exp(-g)) * u).to(tl.float16), mask=i < n)
""",
    launched("gated", {"n": [60, 300]}, [
        ("y", "output", "float16", "n"), ("a", "input", "float16", "n"), ("b", "input", "float16", "n"),
        ("n", "scalar", "int32", "n")], "ceil_div(n, 64)", "64", {"n": 1 << 17}),
)  # fmt: skip
RMS_ONCE = """def rms(y, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, WIDTH)
    v = tl.load(x + row * C + i, mask=i < C, other=0.0).to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(v * v, axis=0) / C + 1e-6)
    tl.store(y + row * C + i, (v * scale).to(tl.float16), mask=i < C)
"""
OTHER = 'other=-float("inf")'
PAIRS = (
    Pair("masked lanes are zero in a maximum", "values", MOST, ((OTHER, "other=0.0"),), (("tl.maximum(most, tl.load(", "tl.maximum(tl.load("), (f'{OTHER}))', f"{OTHER}), most)"))),
    Pair("masked lanes are minus a million in a maximum", "values", MOST, ((OTHER, "other=-1e6"),), (("tl.max(most, axis=0)", "-tl.min(-most, axis=0)"),)),
    Pair("the store has no mask", "bounds", ADD, (("v * 2.0 + 1.0, mask=i < C)", "v * 2.0 + 1.0)"),), (("v * 2.0 + 1.0", "1.0 + v * 2.0"),)),
    Pair("rows are taken for dense", "values", ADD, (("row * sx + i", "row * C + i"),), (("row * sx + i", "i + sx * row"),), True),
    Pair("products are summed in halves", "precision", DOT, (("total = tl.zeros((BLOCK, BLOCK), tl.float32)", "total = tl.zeros((BLOCK, BLOCK), tl.float16)"), ("total += tl.dot(left, right)", "total += tl.dot(left, right, out_dtype=tl.float16)"), (", total, mask", ", total.to(tl.float32), mask")), (("total += tl.dot(left, right)", "total = tl.dot(left, right, total)"),)),
    Pair("the last slice of k is not masked", "tail", DOT, (("mask=(rows[:, None] < M) & (i[None, :] < K)", "mask=(rows[:, None] < M) & (i[None, :] < K + 1)"), ("mask=(i[:, None] < K) & (columns", "mask=(i[:, None] < K + 1) & (columns")), (("mask=(rows[:, None] < M) & (i[None, :] < K)", "mask=(i[None, :] < K) & (rows[:, None] < M)"),), True),
    Pair("halves before the square", "precision", NORMAL, (("squares += v * v", "h = v.to(tl.float16)\n        squares += (h * h).to(tl.float32)"),), (("squares += v * v", "squares = v * v + squares"),)),
    Pair("rows of a thousand at most", "tail", NORMAL, HEAD + RMS_ONCE.replace("WIDTH", "1024"), (("scale = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / C + 1e-6)", "scale = tl.rsqrt(tl.sum(squares, axis=0) / C + 1e-6)"),)),
    Pair("a sum without atomics", "race", SUMS, (("tl.atomic_add(y + i, tl.load(x + row * C + i, mask=i < C, other=0.0), mask=i < C)", "tl.store(y + i, tl.load(y + i, mask=i < C, other=0.0) + tl.load(x + row * C + i, mask=i < C, other=0.0), mask=i < C)"),), (("other=0.0), mask=i < C)", 'other=0.0), mask=i < C, sem="relaxed")'),)),
    Pair("a sum whose mask is the load's alone", "bounds", SUMS, (("other=0.0), mask=i < C)", "other=0.0))"),), (("other=0.0), mask=i < C)", "other=-0.0), mask=i < C)"),), True),
    Pair("numbers repeat in every block", "values", DROP, (("tl.rand(seed, i)", "tl.rand(seed, i % BLOCK)"),), (("tl.rand(seed, i)", "tl.rand(seed, 0 + i)"),)),
    Pair("the seed is a constant", "cheat", DROP, (("tl.rand(seed, i)", "tl.rand(77, i)"),), (("> p, v / (1.0 - p), 0.0)", "<= p, 0.0, v / (1.0 - p))"),), True),
    Pair("a gate in halves", "precision", GATED, (("(1.0 + tl.exp(-g))", "(1.0 + tl.exp(-g).to(tl.float16)).to(tl.float32)"),), (("g / (1.0 + tl.exp(-g))", "g * tl.sigmoid(g)"),)),
    Pair("a gate that overflows", "values", GATED, (("g / (1.0 + tl.exp(-g))", "g * tl.exp(g) / (1.0 + tl.exp(g))"),), (("(1.0 + tl.exp(-g))", "(tl.exp(-g) + 1.0)"),)),
)  # fmt: skip
