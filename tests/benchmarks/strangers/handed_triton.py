# ruff: noqa: E501
"""The same in Triton: scans and products from the end, counters of programs, block pointers, promises; and their twins."""

from __future__ import annotations

from .kinds.blocks import HEAD, launched
from .rewrites import INT, F, H, inp, number, out, paired

B = "bfloat16"
HALVES = """def halves(c, a, b, M, N, K, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    i = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for at in range(0, K, BLOCK):
        left = tl.load(a + m[:, None] * K + at + i[None, :], mask=(m[:, None] < M) & (at + i[None, :] < K), other=0.0)
        right = tl.load(b + (at + i[:, None]) * N + n[None, :], mask=(at + i[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(left, right)
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))
"""
LEFT = (
    "tl.load(a + m[:, None] * K + at + i[None, :], mask=(m[:, None] < M) & (at + i[None, :] < K), other=0.0)"
)
POINTERS = """    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    pa = tl.make_block_ptr(a, (M, K), (K, 1), (tl.program_id(0) * BLOCK, 0), (BLOCK, BLOCK), (1, 0))
"""
PRODUCTS = launched(
    "halves",
    {"M": [16, 20], "N": [16, 24], "K": [32, 50]},
    [out("c", F, "M,N"), inp("a", H, "M,K"), inp("b", H, "K,N"), number("M"), number("N"), number("K")],
    'ceil_div(M, 16)", "ceil_div(N, 16)',
    "16",
    {"M": 64, "N": 64, "K": 512},
)
LINEAR = """def linear(y, x, w, N, K, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    n = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, K):
        acc += tl.load(x + row * K + k) * tl.load(w + n * K + k, mask=n < N, other=0.0)
    tl.store(y + row * N + n, acc, mask=n < N)
"""
LINEAR_TILED = (
    HEAD
    + """def linear(y, x, w, N, K, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    n = tl.arange(0, BLOCK)
    i = tl.arange(0, 16)
    acc = tl.zeros((BLOCK,), tl.float32)
    for at in range(0, K, 16):
        k = at + i
        left = tl.load(x + row * K + k, mask=k < K, other=0.0)
        right = tl.load(w + n[:, None] * K + k[None, :], mask=MASK, other=0.0)
        acc += tl.sum(right * left[None, :], axis=1)
    tl.store(y + row * N + n, acc, mask=n < N)
"""
)
FROM_END = """def from_end(y, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * C + c, mask=c < C, other=0.0)
    later = (c[None, :] >= c[:, None]) & (c[None, :] < C)
    tl.store(y + row * C + c, tl.sum(tl.where(later, tl.exp(v)[None, :], 0.0), axis=1), mask=c < C)
"""
LATER = "tl.sum(tl.where(later, tl.exp(v)[None, :], 0.0), axis=1)"
FADING = """def fading(y, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    h = 0.0
    for c in range(0, C):
        h = 0.75 * h + tl.load(x + row * C + c)
        tl.store(y + row * C + c, h)
"""
FADING_SCAN = """

@triton.jit
def folded(p, u, q, v):
    return FOLD


@triton.jit
def fading(y, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * C + c, mask=c < C, other=0.0)
    _, h = tl.associative_scan((tl.full((BLOCK,), 0.75, tl.float32), v), 0, folded)
    tl.store(y + row * C + c, h, mask=c < C)
"""
BINS = """def bins(y, x, n, BLOCK: tl.constexpr):
    b = tl.arange(0, 16)
    many = tl.zeros((16,), tl.int32)
    for at in range(0, n):
        many += (tl.load(x + at) == b).to(tl.int32)
    tl.store(y + b, many)
"""
BINS_TILED = (
    HEAD
    + """def bins(y, x, n, BLOCK: tl.constexpr):
    b = tl.arange(0, 16)
    many = tl.zeros((16,), tl.int32)
    for at in range(0, n, BLOCK):
        i = at + tl.arange(0, BLOCK)
        many += tl.histogram(tl.load(x + i, mask=i < n, other=0), 16)
    REST
    tl.store(y + b, many)
"""
)
ADDED = """def added(y, x, index, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.load(index + i, mask=i < n, other=0)
    tl.atomic_add(y + at, tl.exp(tl.load(x + i, mask=i < n, other=0.0)), mask=i < n)
"""
ADDED_ALL = (
    HEAD
    + """def added(y, x, index, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.load(index + i, mask=i < n, other=0)
    tl.atomic_add(y + at, tl.exp(tl.load(x + i, mask=i < n, other=OTHER)))
"""
)
ENDS = """def ends(y, part, x, N, C, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    tl.store(part + tl.program_id(0) * C + c, tl.load(x + tl.program_id(0) * C + c, mask=c < C, other=0.0) * 2.0, mask=c < C)
    if tl.program_id(0) == 0:
        s = tl.zeros((BLOCK,), tl.float32)
        for r in range(0, N):
            s += tl.load(x + r * C + c, mask=c < C, other=0.0) * 2.0
        tl.store(y + c, s, mask=c < C)
"""
ENDS_COUNTED = (
    HEAD
    + """def ends(y, part, x, N, C, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    tl.store(part + tl.program_id(0) * C + c, tl.load(x + tl.program_id(0) * C + c, mask=c < C, other=0.0) * 2.0, mask=c < C)
    STORED
    if tl.atomic_add(part + N * C, 1.0) == N - 1:
        s = tl.zeros((BLOCK,), tl.float32)
        for r in range(0, N):
            s += tl.load(part + r * C + c, mask=c < C, other=0.0, cache_modifier=".cg")
        tl.store(y + c, s, mask=c < C)
        tl.store(part + N * C, 0.0)
"""
)
WIDE = """def wide(y, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    s = tl.zeros((BLOCK,), tl.float32)
    for at in range(0, C, BLOCK):
        c = at + tl.arange(0, BLOCK)
        s += tl.load(x + row * C + c, mask=c < C, other=0.0)
    tl.store(y + row, tl.sum(s, axis=0))
"""
TWO = """    s = tl.load(x + row * C + tl.arange(0, BLOCK), mask=tl.arange(0, BLOCK) < C, other=0.0)
    s += tl.load(x + row * C + BLOCK + tl.arange(0, BLOCK), mask=BLOCK + tl.arange(0, BLOCK) < C, other=0.0)
"""
LOOP = """    s = tl.zeros((BLOCK,), tl.float32)
    for at in range(0, C, BLOCK):
        c = at + tl.arange(0, BLOCK)
        s += tl.load(x + row * C + c, mask=c < C, other=0.0)
"""
BACK = """def back(dx, y, dy, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    p = tl.load(y + row * C + c, mask=c < C, other=0.0).to(tl.float32)
    d = tl.load(dy + row * C + c, mask=c < C, other=0.0).to(tl.float32)
    tl.store(dx + row * C + c, p * (d - tl.sum(p * d, axis=0)), mask=c < C)
"""
STRIDED = """def strided(y, x, S, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    tl.store(y + row * BLOCK + c, tl.load(x + row * S + c) * 2.0)
"""
FAR = """def far(y, x, S, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    tl.store(y + row * BLOCK + c, tl.load(x + row * S + c) * 2.0)
"""
HINT = ("x + row * S + c", "x + tl.multiple_of(row * S, 16) + c")
PAIRS = (
    paired("halves", HALVES, PRODUCTS,
        {"products end in halves": [("tl.dot(left, right)", "tl.dot(left, right, out_dtype=tl.float16)")]},
        {"products end in floats": [("acc += tl.dot(left, right)", "acc = tl.dot(left, right, acc, out_dtype=tl.float32)")]}, "triton"),
    paired("halves", HALVES, PRODUCTS,
        {"the inner end of a block is not asked": [("    acc = tl.zeros((BLOCK, BLOCK), tl.float32)\n", POINTERS), (LEFT, 'tl.load(pa, boundary_check=(0,), padding_option="zero")'), ("acc += tl.dot(left, right)", "acc += tl.dot(left, right)\n        pa = tl.advance(pa, (0, BLOCK))")]},
        {"both ends of a block are asked": [("    acc = tl.zeros((BLOCK, BLOCK), tl.float32)\n", POINTERS), (LEFT, 'tl.load(pa, boundary_check=(0, 1), padding_option="zero")'), ("acc += tl.dot(left, right)", "acc += tl.dot(left, right)\n        pa = tl.advance(pa, (0, BLOCK))")]}, "triton"),
    paired("linear", LINEAR,
        launched("linear", {"R": [2, 3], "N": [10, 16], "K": [20, 40]}, [out("y", F, "R,N"), inp("x", F, "R,K"), inp("w", F, "N,K"), number("N"), number("K")], "R", "16", {"R": 64, "N": 16, "K": 256}).replace("[dims]", 'promises = ["N <= 16"]\n[dims]', 1),
        {"zero times the next row": LINEAR_TILED.replace("MASK", "n[:, None] * K + k[None, :] < N * K")},
        {"nothing of the next row": LINEAR_TILED.replace("MASK", "(n[:, None] < N) & (k[None, :] < K)")}, "triton"),
    paired("from_end", FROM_END,
        launched("from_end", {"N": [2, 5], "C": [20, 60]}, [out("y", F, "N,C"), inp("x", F, "N,C"), number("C")], "N", "next_power_of_2(C)", {"N": 64, "C": 64}),
        {"sums from the end begin behind it": [(LATER, "tl.cumsum(tl.exp(v), axis=0, reverse=True)")]},
        {"sums from the end begin at it": [(LATER, "tl.cumsum(tl.where(c < C, tl.exp(v), 0.0), axis=0, reverse=True)")]}, "triton"),
    paired("fading", FADING,
        launched("fading", {"N": [2, 5], "C": [20, 60]}, [out("y", F, "N,C"), inp("x", F, "N,C"), number("C")], "N", "next_power_of_2(C)", {"N": 64, "C": 256}),
        {"a fold that takes one step for several": HEAD.replace("\n\n\n@triton.jit\n", "\n") + FADING_SCAN.replace("FOLD", "p * q, 0.75 * u + v")},
        {"a fold that takes as many steps": HEAD.replace("\n\n\n@triton.jit\n", "\n") + FADING_SCAN.replace("FOLD", "p * q, q * u + v")}, "triton"),
    paired("bins", BINS,
        launched("bins", {"n": [50, 200]}, [out("y", INT, "16"), inp("x", INT, "n", "integers(0, 16)"), number("n")], "1", "64", {"n": 1 << 12}),
        {"what is beyond the end is in the first bin": BINS_TILED.replace("REST", "")},
        {"what is beyond the end is taken away": BINS_TILED.replace("REST", "many -= tl.where(b == 0, tl.cdiv(n, BLOCK) * BLOCK - n, 0)")}, "triton"),
    paired("added", ADDED,
        launched("added", {"n": [50, 200]}, [("y", "inout", F, "20"), inp("x"), inp("index", INT, "n", "integers(0, 20)"), number("n")], "ceil_div(n, 64)", "64", {"n": 1 << 12}),
        {"what is beyond the end is added to the first": ADDED_ALL.replace("OTHER", "0.0")},
        {"beyond the end there is nothing to add": ADDED_ALL.replace("OTHER", '-float("inf")')}, "triton"),
    paired("ends", ENDS,
        launched("ends", {"N": [3, 6], "C": [40, 64]}, [out("y", F, "C"), ("part", "inout", F, "N * C + 1", "uniform(0, 0)"), inp("x", F, "N,C"), number("N"), number("C")], "N", "next_power_of_2(C)", {"N": 32, "C": 256}),
        {"the counter counts before all have stored": ENDS_COUNTED.replace("STORED", "pass")},
        {"the counter counts when all have stored": ENDS_COUNTED.replace("STORED", "tl.debug_barrier()")}, "triton"),
    paired("wide", WIDE,
        launched("wide", {"N": [2, 5], "C": [40, 128]}, [out("y", F, "N"), inp("x", F, "N,C"), number("C")], "N", "64", {"N": 64, "C": 4096}),
        {"two blocks hold a row": [(LOOP, TWO)]},
        {"two blocks, and the rest": [(LOOP, TWO + LOOP.replace("    s = tl.zeros((BLOCK,), tl.float32)\n", "").replace("in range(0,", "in range(2 * BLOCK,"))]}, "triton"),
    paired("back", BACK,
        launched("back", {"N": [2, 5], "C": [40, 200]}, [out("dx", F, "N,C"), inp("y", B, "N,C", "uniform(0, 1)"), inp("dy", B, "N,C"), number("C")], "N", "next_power_of_2(C)", {"N": 64, "C": 1024}),
        {"products are narrow before they are summed": [("tl.sum(p * d, axis=0)", "tl.sum((p * d).to(tl.bfloat16).to(tl.float32), axis=0)")]},
        {"products are wide until they are summed": [("p * (d - tl.sum(p * d, axis=0))", "p * d - p * tl.sum(d * p, axis=0)")]}, "triton"),
    paired("strided", STRIDED,
        launched("strided", {"N": [2, 5], "S": [256, 270]}, [out("y", F, "N,256"), inp("x", F, "N,S"), number("S")], "N", "256", {"N": 64, "S": 512}).replace("[dims]", 'promises = ["S >= 256"]\n[dims]', 1),
        {"a stride that is promised to be of sixteen": [HINT]},
        {"a stride that is promised nothing": [(HINT[0], HINT[1].replace("16", "1"))]}, "triton"),
    paired("far", FAR,
        launched("far", {"N": [3, 6], "S": [64, 100]}, [out("y", H, "N,BLOCK"), inp("x", H, "N,S"), number("S")], "N", "64", {"N": 1 << 16, "S": 1 << 16}).replace('"BLOCK"', '"64"').replace("[dims]", 'promises = ["S >= 64"]\n[dims]', 1),
        {"a far row's place in 32 bits": [(".to(tl.int64)", "")]},
        {"a far row's place in 64 bits": [("row = tl.program_id(0).to(tl.int64)", "row = tl.program_id(0)"), ("x + row * S", "x + row.to(tl.int64) * S")]}, "triton"),
)  # fmt: skip
