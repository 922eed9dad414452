# ruff: noqa: E501
"""The same in Triton: masks of sums, shares that overlap, ties, numbers in between that are too narrow; and their twins."""

from __future__ import annotations

from .kinds.blocks import HEAD, launched
from .rewrites import INT, F, H, inp, number, out, paired

B = "bfloat16"
NORMED = """def normed(y, x, w, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * C + c, mask=c < C, other=0.0)
    mean = tl.sum(v, axis=0) / C
    d = tl.where(c < C, v - mean, 0.0)
    scale = tl.rsqrt(tl.sum(d * d, axis=0) / C + 1e-5)
    tl.store(y + row * C + c, d * scale * tl.load(w + c, mask=c < C, other=0.0), mask=c < C)
"""
ATTEND = """def attend(y, q, k, v, T, D: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + row * D + d)
    most = -float("inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for at in range(0, T, BLOCK):
        t = at + tl.arange(0, BLOCK)
        key = tl.load(k + t[:, None] * D + d[None, :], mask=t[:, None] < T, other=0.0)
        value = tl.load(v + t[:, None] * D + d[None, :], mask=t[:, None] < T, other=0.0)
        s = tl.where(t < T, tl.sum(key * query[None, :], axis=1), -float("inf"))
        new = tl.maximum(most, tl.max(s, axis=0))
        p = tl.exp(s - new)
        less = tl.exp(most - new)
        total = total * less + tl.sum(p, axis=0)
        acc = acc * less + tl.sum(p[:, None] * value, axis=0)
        most = new
    tl.store(y + row * D + d, acc / total)
"""
ORDERED = """def ordered(c, a, b, M, N, K, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    across = tl.cdiv(N, BLOCK)
    pm, pn = pid // across, pid % across
    m = pm * BLOCK + tl.arange(0, BLOCK)
    n = pn * BLOCK + tl.arange(0, BLOCK)
    i = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for at in range(0, K, BLOCK):
        left = tl.load(a + m[:, None] * K + at + i[None, :], mask=(m[:, None] < M) & (at + i[None, :] < K), other=0.0)
        right = tl.load(b + (at + i[:, None]) * N + n[None, :], mask=(at + i[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(left, right, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))
"""
PLACE = "    pm, pn = pid // across, pid % across\n"
GROUPED = """    down = tl.cdiv(M, BLOCK)
    first = pid // (GROUP * across) * GROUP
    height = HEIGHT
    pm, pn = first + pid % (GROUP * across) % height, pid % (GROUP * across) // height
"""
SHARES = """def shares(y, x, C, S: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    if tl.program_id(1) == 0:
        s = tl.zeros((BLOCK,), tl.float32)
        for at in range(0, C, BLOCK):
            c = at + tl.arange(0, BLOCK)
            s += tl.load(x + row * C + c, mask=c < C, other=0.0)
        tl.atomic_add(y + row, tl.sum(s, axis=0))
"""
SHARE = (
    HEAD
    + """def shares(y, x, C, S: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    each = tl.cdiv(C, S)
    first = tl.program_id(1) * each
    s = tl.zeros((BLOCK,), tl.float32)
    for at in range(0, each, BLOCK):
        c = first + at + tl.arange(0, BLOCK)
        s += tl.load(x + row * C + c, mask=MASK, other=0.0)
    tl.atomic_add(y + row, tl.sum(s, axis=0))
"""
)
WHERE = """def where_most(y, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * C + c, mask=c < C, other=-2147483648)
    tl.store(y + row, tl.argmax(v, axis=0))
"""
PRODUCT = """def product(c, a, b, s, N, K, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    i = tl.arange(0, 32)
    acc = tl.zeros((BLOCK, BLOCK), tl.int32)
    for at in range(0, K, 32):
        left = tl.load(a + m[:, None] * K + at + i[None, :], mask=at + i[None, :] < K, other=0)
        right = tl.load(b + (at + i[:, None]) * N + n[None, :], mask=at + i[:, None] < K, other=0)
        acc += tl.dot(left, right)
    tl.store(c + m[:, None] * N + n[None, :], (acc.to(tl.float32) * tl.load(s)).to(tl.float16))
"""
SCALE = """def rms(y, x, w, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * C + c, mask=c < C, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(v * v, axis=0) / C + 1e-6)
    gain = tl.load(w + c, mask=c < C, other=0.0).to(tl.float32)
    tl.store(y + row * C + c, (v * scale * gain).to(tl.bfloat16), mask=c < C)
"""
GELU = """def gelu(y, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    u = 0.7978845608 * (v + 0.044715 * v * v * v)
    t = 2.0 * tl.sigmoid(2.0 * u) - 1.0
    tl.store(y + i, 0.5 * v * (1.0 + t), mask=i < n)
"""
LOGS = """def logs(y, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=1.0)
    tl.store(y + i, tl.where(v > 0.0, tl.log(v), 0.0), mask=i < n)
"""
MOVED = """def moved(y, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n, other=0.0) * 0.5 - 1.0, mask=i < n)
"""
PAIRS = (
    paired(
        "normed", NORMED,
        launched("normed", {"N": [2, 5], "C": [40, 100]}, [out("y", F, "N,C"), inp("x", F, "N,C"), inp("w", F, "C"), number("C")], "N", "next_power_of_2(C)", {"N": 64, "C": 1024}),
        {"lanes beyond the row have a distance": [("tl.where(c < C, v - mean, 0.0)", "v - mean")]},
        {"squares of lanes of the row": [("tl.where(c < C, v - mean, 0.0)", "v - mean"), ("tl.sum(d * d, axis=0)", "tl.sum(tl.where(c < C, d * d, 0.0), axis=0)")]},
        "triton"),
    paired(
        "attend", ATTEND,
        launched("attend", {"N": [2, 5], "T": [20, 70]}, [out("y", F, "N,16"), inp("q", F, "N,16"), inp("k", F, "T,16"), inp("v", F, "T,16"), number("T")], "N", "32", {"N": 64, "T": 512}).replace("constexpr = {", 'constexpr = { D = "16",'),
        {"the sum is made less after it grew": [("total = total * less + tl.sum(p, axis=0)", "total = (total + tl.sum(p, axis=0)) * tl.where(at == 0, 1.0, less)")]},
        {"powers of two": [("tl.exp(s - new)", "tl.exp2((s - new) * 1.4426950408889634)"), ("tl.exp(most - new)", "tl.exp2((most - new) * 1.4426950408889634)")]},
        "triton"),
    paired(
        "ordered", ORDERED,
        launched("ordered", {"M": [16, 64], "N": [16, 40], "K": [20, 48]}, [out("c", F, "M,N"), inp("a", F, "M,K"), inp("b", F, "K,N"), number("M"), number("N"), number("K")], "ceil_div(M, 16) * ceil_div(N, 16)", "16", {"M": 128, "N": 128, "K": 128}).replace("constexpr = {", 'constexpr = { GROUP = "4",'),
        {"a last group as high as the others": [(PLACE, GROUPED.replace("HEIGHT", "GROUP"))]},
        {"a last group that ends": [(PLACE, GROUPED.replace("HEIGHT", "tl.minimum(down - first, GROUP)"))]},
        "triton"),
    paired(
        "shares", SHARES,
        launched("shares", {"N": [2, 5], "C": [128, 512]}, [("y", "inout", F, "N"), inp("x", F, "N,C"), number("C")], 'N", "4', "32", {"N": 64, "C": 1024}).replace("constexpr = {", 'constexpr = { S = "4",'),
        {"shares that reach into the next": SHARE.replace("MASK", "c < C")},
        {"shares that end": SHARE.replace("MASK", "(c < C) & (c < first + each)")},
        "triton"),
    paired(
        "where_most", WHERE,
        launched("where_most", {"N": [2, 5], "C": [40, 100]}, [out("y", INT, "N"), inp("x", INT, "N,C", "integers(-1000000, 1000000)"), number("C")], "N", "next_power_of_2(C)", {"N": 64, "C": 1024}),
        {"any of equal ones wins": [("tl.argmax(v, axis=0)", "tl.argmax(v, axis=0, tie_break_left=False)")]},
        {"the first of all that are the most": [("tl.argmax(v, axis=0)", "tl.min(tl.where((v == tl.max(v, axis=0)) & (c < C), c, BLOCK), axis=0)")]},
        "triton"),
    paired(
        "product", PRODUCT,
        launched("product", {"M": [16, 32], "N": [16, 32], "K": [40, 96]}, [out("c", H, "M,N"), inp("a", "int8", "M,K", "integers(-128, 127)"), inp("b", "int8", "K,N", "integers(-128, 127)"), inp("s", F, "1", "uniform(0.0001, 0.001)"), number("N"), number("K")], 'M // 16", "N // 16', "16", {"M": 64, "N": 64, "K": 256}),
        {"a sum of bytes in a half": [("(acc.to(tl.float32) * tl.load(s)).to(tl.float16)", "acc.to(tl.float16) * tl.load(s).to(tl.float16)")]},
        {"the scale first": [("acc.to(tl.float32) * tl.load(s)", "tl.load(s) * acc")]},
        "triton"),
    paired(
        "rms", SCALE,
        launched("rms", {"N": [2, 5], "C": [40, 100]}, [out("y", B, "N,C"), inp("x", B, "N,C"), inp("w", B, "C"), number("C")], "N", "next_power_of_2(C)", {"N": 64, "C": 1024}),
        {"short before the gain": [("(v * scale * gain).to(tl.bfloat16)", "(v * scale).to(tl.bfloat16) * gain.to(tl.bfloat16)")]},
        {"the gain before the scale": [("v * scale * gain", "v * gain * scale")]},
        "triton"),
    paired(
        "gelu", GELU,
        launched("gelu", {"n": [100, 300]}, [out("y"), inp("x"), number("n")], "ceil_div(n, 128)", "128", {"n": 1 << 16}),
        {"a tangent of two infinities": [("t = 2.0 * tl.sigmoid(2.0 * u) - 1.0", "e = tl.exp(2.0 * u)\n    t = (e - 1.0) / (e + 1.0)")]},
        {"a tangent of one": [("t = 2.0 * tl.sigmoid(2.0 * u) - 1.0", "t = 1.0 - 2.0 / (tl.exp(2.0 * u) + 1.0)")]},
        "triton"),
    paired(
        "logs", LOGS,
        launched("logs", {"n": [100, 300]}, [out("y"), inp("x"), number("n")], "ceil_div(n, 128)", "128", {"n": 1 << 16}),
        {"a floor for logarithms": [("tl.log(v)", "tl.log(tl.maximum(v, 1e-30))")]},
        {"one for what is not above zero": [("tl.where(v > 0.0, tl.log(v), 0.0)", "tl.log(tl.where(v > 0.0, v, 1.0))")]},
        "triton"),
    paired(
        "moved", MOVED,
        launched("moved", {"n": [100, 300]}, [out("y"), inp("x"), number("n")], "ceil_div(n, 128)", "128", {"n": 1 << 16}),
        {"a program's number in 15 bits": [("tl.program_id(0) * BLOCK", "(tl.program_id(0) & 32767) * BLOCK")]},
        {"a program's number in 64 bits": [("tl.program_id(0) * BLOCK", "tl.program_id(0).to(tl.int64) * BLOCK")]},
        "triton"),
)  # fmt: skip
