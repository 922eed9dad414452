# ruff: noqa: E501
"""Triton: rows that are quantised, masked means, a threshold of two inputs. Looked at."""

from ..kinds.blocks import ground, launched
from . import each

SIZED = ground(
    "sized",
    """def sized(q, scale, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * C + i, mask=i < C, other=0.0)
    most = tl.max(tl.abs(v), axis=0)
    s = tl.where(most > 0.0, most / 127.0, 1.0)
    u = v / s
    r = tl.where(u >= 0.0, tl.floor(u + 0.5), tl.ceil(u - 0.5))
    tl.store(q + row * C + i, r.to(tl.int8), mask=i < C)
    tl.store(scale + row, s)
""",
    launched("sized", {"N": [2, 6], "C": [40, 100]}, [
        ("q", "output", "int8", "N,C"), ("scale", "output", "float32", "N"), ("x", "input", "float32", "N,C", "uniform(-4, 4)"), ("C", "scalar", "int32", "C")], "N", "next_power_of_2(C)", {"N": 256, "C": 1024}),
)  # fmt: skip
MEANS = ground(
    "means",
    """def means(y, x, length, T, D, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    d = tl.arange(0, BLOCK)
    many = tl.load(length + row)
    total = tl.zeros((BLOCK,), tl.float32)
    for t in range(0, many):
        total += tl.load(x + (row * T + t) * D + d, mask=d < D, other=0.0)
    tl.store(y + row * D + d, tl.where(many > 0, total / tl.maximum(many, 1), 0.0), mask=d < D)
""",
    launched("means", {"N": [3, 5], "T": [6, 17], "D": [20, 32]}, [
        ("y", "output", "float32", "N,D"), ("x", "input", "float32", "N,T,D"), ("length", "input", "int32", "N", "integers(0, T + 1)"),
        ("T", "scalar", "int32", "T"), ("D", "scalar", "int32", "D")], "N", "next_power_of_2(D)", {"N": 64, "T": 128, "D": 64}),
)  # fmt: skip
DRAWN = ground(
    "drawn",
    """def drawn(y, p, u, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    limit = tl.load(p + i, mask=i < n, other=0.0)
    v = tl.load(u + i, mask=i < n, other=0.0)
    tl.store(y + i, tl.where(v < limit, 1.0, 0.0), mask=i < n)
""",
    launched("drawn", {"n": [60, 300]}, [
        ("y", "output", "float32", "n"), ("p", "input", "float32", "n", "uniform"), ("u", "input", "float32", "n", "uniform"),
        ("n", "scalar", "int32", "n")], "ceil_div(n, 64)", "64", {"n": 1 << 17}),
)  # fmt: skip
PAIRS = (
    *each(SIZED,
        ("halves are rounded up", "ties", (("tl.where(u >= 0.0, tl.floor(u + 0.5), tl.ceil(u - 0.5))", "tl.floor(u + 0.5)"),), (("u >= 0.0, tl.floor(u + 0.5), tl.ceil(u - 0.5)", "u < 0.0, tl.ceil(u - 0.5), tl.floor(u + 0.5)"),)),
        ("a row of zeros", "zeros", (("tl.where(most > 0.0, most / 127.0, 1.0)", "tl.maximum(most, 1e-8) / 127.0"),), (("most > 0.0, most / 127.0, 1.0", "most == 0.0, 1.0, most / 127.0"),))),
    *each(MEANS,
        ("the whole length is left out", "ends", (("range(0, many)", "range(0, tl.minimum(many, T - 1))"),), (("range(0, many)", "range(0, tl.minimum(many, T))"),)),
        ("an empty row is its first", "ends", (("range(0, many)", "range(0, tl.maximum(many, 1))"), ("tl.where(many > 0, total / tl.maximum(many, 1), 0.0)", "total / tl.maximum(many, 1)")), (("tl.where(many > 0, total / tl.maximum(many, 1), 0.0)", "total / tl.maximum(many, 1)"),))),
    *each(DRAWN,
        ("the limit itself is drawn", "ties", (("v < limit", "v <= limit"),), (("v < limit, 1.0, 0.0", "v >= limit, 0.0, 1.0"),)),
        ("compared in halves", "precision", (("v < limit", "v.to(tl.float16) < limit.to(tl.float16)"),), (("v < limit", "limit > v"),))),
)  # fmt: skip
