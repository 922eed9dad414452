# ruff: noqa: E501
"""The same in Triton: narrow states, zero points, ragged rows, persistent programs, locks, windows and caches; and their twins."""

from __future__ import annotations

from .kinds.blocks import HEAD, launched
from .rewrites import INT, F, H, inp, number, out, paired

B, LONG = "bfloat16", "int64"
STEP = """def step(p, m, g, lr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    old = tl.load(m + i, mask=i < n, other=0.0).to(tl.float32)
    new = 0.9 * old + 0.1 * tl.load(g + i, mask=i < n, other=0.0)
    tl.store(m + i, new.to(tl.bfloat16), mask=i < n)
    tl.store(p + i, tl.load(p + i, mask=i < n, other=0.0) - lr * new, mask=i < n)
"""
COUNTS = """def counts(y, x, n, E: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    e = tl.arange(0, E)
    at = tl.load(x + i, mask=i < n, other=-1)
    tl.atomic_add(y + e, tl.sum((at[:, None] == e[None, :]).to(tl.int32), axis=0))
"""
RAGGED = """def ragged(y, q, k, v, length, T, D: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + row * D + d)
    many = tl.load(length + row)
    most = -float("inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for at in range(0, many, BLOCK):
        t = at + tl.arange(0, BLOCK)
        place = (row * T + t[:, None]) * D + d[None, :]
        key = tl.load(k + place, mask=t[:, None] < many, other=0.0)
        value = tl.load(v + place, mask=t[:, None] < many, other=0.0)
        s = tl.where(t < many, tl.sum(key * query[None, :], axis=1), -float("inf"))
        new = tl.maximum(most, tl.max(s, axis=0))
        p = tl.exp(s - new)
        less = tl.exp(most - new)
        total = total * less + tl.sum(p, axis=0)
        acc = acc * less + tl.sum(p[:, None] * value, axis=0)
        most = new
    tl.store(y + row * D + d, tl.where(many > 0, acc / total, 0.0))
"""
RAGGED_WORKLOAD = launched(
    "ragged",
    {"N": [2, 4], "T": [20, 70]},
    [
        out("y", F, "N,16"),
        inp("q", F, "N,16"),
        inp("k", F, "N,T,16"),
        inp("v", F, "N,T,16"),
        inp("length", INT, "N", "integers(0, T + 1)"),
        number("T"),
    ],
    "N",
    "32",
    {"N": 16, "T": 256},
).replace("constexpr = {", 'constexpr = { D = "16",')
ZEROS = """def zeros(y, q, z, s, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    word = tl.load(q + row * (C // 8) + c // 8, mask=c < C, other=0)
    zero = tl.load(z + c // 8, mask=c < C, other=0)
    shift = (c % 8) * 4
    value = ((word >> shift) & 15) - (((zero >> shift) & 15) + 1)
    tl.store(y + row * C + c, value.to(tl.float32) * tl.load(s + c, mask=c < C, other=0.0), mask=c < C)
"""
TURN = """def turn(y, x, pos, D: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    rate = tl.exp2(-(c // 2).to(tl.float32) * (26.575424759098897 / D))
    angle = tl.load(pos + row).to(tl.float32) * rate
    a = tl.load(x + row * D + c)
    b = tl.load(x + row * D + (c ^ 1))
    tl.store(y + row * D + c, a * tl.cos(angle) + tl.where(c % 2 == 1, b, -b) * tl.sin(angle))
"""
CHANNELS = """def channels(y, x, w, P, K, BLOCK: tl.constexpr):
    group = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    M = P * K
    v = tl.load(x + group * M + i, mask=i < M, other=0.0)
    mean = tl.sum(v, axis=0) / M
    d = tl.where(i < M, v - mean, 0.0)
    scale = tl.rsqrt(tl.sum(d * d, axis=0) / M + 1e-5)
    gain = tl.load(w + group * K + i // P, mask=i < M, other=0.0)
    tl.store(y + group * M + i, d * scale * gain, mask=i < M)
"""
SUMMED = """def summed(y, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * C + c, mask=c < C, other=0).to(tl.int64)
    tl.store(y + row * C + c, tl.cumsum(v, axis=0), mask=c < C)
"""
BITS = """def bits(y, x, W, BLOCK: tl.constexpr):
    w = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    k = tl.arange(0, 32)
    v = tl.load(x + w[:, None] * 32 + k[None, :], mask=w[:, None] < W, other=0)
    tl.store(y + w, tl.sum(tl.where(v > 0, 1, 0) << k[None, :], axis=1), mask=w < W)
"""
STATE = """def state(y, kept, x, before, w, T, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    t = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for k in range(4):
        at = t - 3 + k
        now = tl.load(x + row * T + at, mask=(at >= 0) & (t < T), other=0.0)
        old = tl.load(before + row * 3 + at + 3, mask=(at < 0) & (t < T), other=0.0)
        acc += tl.load(w + k) * tl.where(at >= 0, now, old)
    tl.store(y + row * T + t, acc, mask=t < T)
    for j in range(3):
        at = T - 3 + j
        if at >= 0:
            tl.store(kept + row * 3 + j, tl.load(x + row * T + at))
        else:
            tl.store(kept + row * 3 + j, tl.load(before + row * 3 + at + 3))
"""
EXACT = """def exact(c, a, b, N, K, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    i = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for at in range(0, K, BLOCK):
        left = tl.load(a + m[:, None] * K + at + i[None, :], mask=at + i[None, :] < K, other=0.0)
        right = tl.load(b + (at + i[:, None]) * N + n[None, :], mask=at + i[:, None] < K, other=0.0)
        acc = tl.dot(left, right, acc, input_precision="ieee")
    tl.store(c + m[:, None] * N + n[None, :], acc)
"""
STAY = """def stay(y, x, n, NUM: tl.constexpr, BLOCK: tl.constexpr):
    for tile in range(tl.program_id(0), tl.cdiv(n, BLOCK * 4), NUM):
        s = tl.zeros((BLOCK,), tl.float32)
        for k in range(4):
            i = (tile * 4 + k) * BLOCK + tl.arange(0, BLOCK)
            s += tl.load(x + i, mask=i < n, other=0.0)
        tl.store(y + tile, tl.sum(s, axis=0))
"""
GRADS = """def grads(dw, lock, dy, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    d = tl.load(dy + row * C + c, mask=c < C, other=0.0) * tl.load(x + row * C + c, mask=c < C, other=0.0)
    tl.atomic_add(lock + 1, 1)
    tl.atomic_add(dw + c, d, mask=c < C)
"""
LOCKED = """    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.debug_barrier()
    d += tl.load(dw + c, mask=c < C, other=0.0)
    tl.store(dw + c, d, mask=c < C)
    END"""
WINDOW = """def window(y, x, T, W, BLOCK: tl.constexpr):
    q = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    seen = (k <= q) & ((W <= 0) | (q - k < W))
    v = tl.load(x + q * T + k, mask=seen & (k < T), other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + q * T + k, e / tl.sum(e, axis=0), mask=k < T)
"""
SCALED = """def scaled(y, x, q, s, K, N, G, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    n = tl.arange(0, BLOCK)
    i = tl.arange(0, 32)
    acc = tl.zeros((BLOCK,), tl.float32)
    for at in range(0, K, 32):
        k = at + i
        inside = (k[:, None] < K) & (n[None, :] < N)
        w = tl.load(q + k[:, None] * N + n[None, :], mask=inside, other=0).to(tl.float32)
        scale = tl.load(s + (k[:, None] // G) * N + n[None, :], mask=inside, other=0.0)
        acc += tl.sum(tl.load(x + row * K + k, mask=k < K, other=0.0)[:, None] * w * scale, axis=0)
    tl.store(y + row * N + n, acc, mask=n < N)
"""
SCALE = "tl.load(s + (k[:, None] // G) * N + n[None, :], mask=inside, other=0.0)"
CACHE = """def cache(kv, x, slot, D, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    d = tl.arange(0, BLOCK)
    at = tl.load(slot + row)
    v = tl.load(x + row * D + d, mask=d < D, other=0.0)
    tl.store(kv + at * D + d, v, mask=(d < D) & (at >= 0))
"""
ALLOWED = """def allowed(y, x, mark, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    ok = (tl.load(mark + row * C + c, mask=c < C, other=0) != 0) & (c < C)
    v = tl.load(x + row * C + c, mask=c < C, other=0.0)
    most = tl.max(tl.where(ok, v, -float("inf")), axis=0)
    e = tl.where(ok, tl.exp(v - most), 0.0)
    total = tl.sum(e, axis=0)
    tl.store(y + row * C + c, tl.where(total > 0.0, e / total, 0.0), mask=c < C)
"""
BEST = """def best(y, x, C, K, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * C + c, mask=c < C, other=-2147483648)
    for k in range(0, K):
        m = tl.max(v, axis=0)
        at = tl.min(tl.where(v == m, c, BLOCK), axis=0)
        tl.store(y + row * K + k, m)
        v = tl.where(c == at, -2147483648, v)
"""
SORTED = (
    HEAD
    + """def best(y, x, C, K, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.sort(tl.load(x + row * C + c, mask=c < C, other=OTHER), descending=True)
    tl.store(y + row * K + c, v, mask=c < K)
"""
)
NIBBLES = """def nibbles(y, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    low = (v & 15).to(tl.float32) - 8.0
    high = ((v.to(tl.int32) & 255) >> 4).to(tl.float32) - 8.0
    tl.store(y + 2 * i, low, mask=i < n)
    tl.store(y + 2 * i + 1, high, mask=i < n)
"""
LOSS = """def loss(y, x, label, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    most = -float("inf")
    total = 0.0
    for at in range(0, C, BLOCK):
        c = at + tl.arange(0, BLOCK)
        v = tl.load(x + row * C + c, mask=c < C, other=-float("inf")).to(tl.float32)
        new = tl.maximum(most, tl.max(v, axis=0))
        total = total * tl.exp(most - new) + tl.sum(tl.exp(v - new), axis=0)
        most = new
    k = tl.load(label + row)
    right = tl.load(x + row * C + k).to(tl.float32)
    tl.store(y + row, most + tl.log(total) - right)
"""
MIXED = """def mixed(y, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, v * tl.sigmoid(1.702 * v), mask=i < n)
"""
PAIRS = (
    paired(
        "step", STEP,
        launched("step", {"n": [100, 300]}, [("p", "inout", F, "n"), ("m", "inout", B, "n"), inp("g"), number("lr", "0.5", F), number("n")], "ceil_div(n, 128)", "128", {"n": 1 << 16}),
        {"the step takes the state as it is kept": [("- lr * new", "- lr * new.to(tl.bfloat16).to(tl.float32)")]},
        {"the step before the state": [("tl.load(p + i, mask=i < n, other=0.0) - lr * new", "tl.fma(-lr, new, tl.load(p + i, mask=i < n, other=0.0))")]},
        "triton"),
    paired(
        "counts", COUNTS,
        launched("counts", {"n": [64, 192]}, [("y", "inout", INT, "8", "integers(0, 3)"), inp("x", INT, "n", "integers(0, 8)"), number("n")], "ceil_div(n, 64)", "64", {"n": 1 << 14}).replace("constexpr = {", 'constexpr = { E = "8",'),
        {"lanes beyond the end choose the first": [("other=-1)", "other=0)")]},
        {"lanes beyond the end choose none": [("other=-1)", "other=8)")]},
        "triton"),
    paired(
        "ragged", RAGGED, RAGGED_WORKLOAD,
        {"scores begin at zero": [('most = -float("inf")', "most = 0.0")]},
        {"scores begin at the lowest": [('most = -float("inf")', "most = -3.4028234663852886e38")]},
        "triton"),
    paired(
        "zeros", ZEROS,
        launched("zeros", {"N": [2, 5], "C": [40, 64]}, [out("y", F, "N,C"), inp("q", INT, "N,C // 8", "integers"), inp("z", INT, "C // 8", "integers"), inp("s", F, "C"), number("C")], "N", "next_power_of_2(C)", {"N": 64, "C": 256}).replace("[dims]", 'promises = ["C % 8 == 0"]\n[dims]', 1),
        {"a zero point that wraps": [("(((zero >> shift) & 15) + 1)", "(((zero >> shift) + 1) & 15)")]},
        {"a zero point after the difference": [("((word >> shift) & 15) - (((zero >> shift) & 15) + 1)", "((word >> shift) & 15) - ((zero >> shift) & 15) - 1")]},
        "triton"),
    paired(
        "turn", TURN,
        launched("turn", {"N": [3, 6]}, [out("y", F, "N,32"), inp("x", F, "N,32"), inp("pos", INT, "N", "integers(0, 4096)")], "N", "32", {"N": 512}).replace("constexpr = {", 'constexpr = { D = "32",'),
        {"positions in sixteen bits of a float": [("tl.load(pos + row).to(tl.float32)", "tl.load(pos + row).to(tl.bfloat16).to(tl.float32)")]},
        {"positions in sixteen bits of a number": [("tl.load(pos + row).to(tl.float32)", "tl.load(pos + row).to(tl.int16).to(tl.float32)")]},
        "triton"),
    paired(
        "channels", CHANNELS,
        launched("channels", {"N": [2, 4], "P": [16, 32], "K": [2, 4]}, [out("y", F, "N,K,P"), inp("x", F, "N,K,P"), inp("w", F, "N,K"), number("P"), number("K")], "N", "next_power_of_2(P * K)", {"N": 32, "P": 64, "K": 8}),
        {"a channel as wide as the block lets it": [("i // P", "i // (BLOCK // K)")]},
        {"a channel by its first": [("i // P", "(i - i % P) // P")]},
        "triton"),
    paired(
        "summed", SUMMED,
        launched("summed", {"N": [2, 5], "C": [40, 100]}, [out("y", LONG, "N,C"), inp("x", INT, "N,C", "integers"), number("C")], "N", "next_power_of_2(C)", {"N": 32, "C": 512}),
        {"wide only after the sums": [("other=0).to(tl.int64)", "other=0)"), ("tl.cumsum(v, axis=0)", "tl.cumsum(v, axis=0).to(tl.int64)")]},
        {"sums in two halves": [("tl.cumsum(v, axis=0)", "(tl.cumsum(v >> 16, axis=0) << 16) + tl.cumsum(v & 65535, axis=0)")]},
        "triton"),
    paired(
        "bits", BITS,
        launched("bits", {"W": [20, 50]}, [out("y", INT, "W"), inp("x", INT, "W,32", "integers(-9, 9)"), number("W")], "ceil_div(W, 16)", "16", {"W": 1024}),
        {"bits are added as floats": [("tl.sum(tl.where(v > 0, 1, 0) << k[None, :], axis=1)", "tl.sum(tl.where(v > 0, tl.exp2(k[None, :].to(tl.float32)), 0.0), axis=1).to(tl.uint32).to(tl.int32, bitcast=True)")]},
        {"bits are joined": [("tl.sum(tl.where(v > 0, 1, 0) << k[None, :], axis=1)", "tl.xor_sum(tl.where(v > 0, 1, 0) << k[None, :], axis=1)")]},
        "triton"),
    paired(
        "state", STATE,
        launched("state", {"N": [2, 4], "T": [20, 40]}, [out("y", F, "N,T"), out("kept", F, "N,3"), inp("x", F, "N,T"), inp("before", F, "N,3"), inp("w", F, "4"), number("T")], "N", "next_power_of_2(T)", {"N": 64, "T": 256}),
        {"a short text keeps the old state in its place": [("tl.load(before + row * 3 + at + 3))\n", "tl.load(before + row * 3 + j))\n")]},
        {"a short text moves the old state": [("tl.load(before + row * 3 + at + 3))\n", "tl.load(before + row * 3 + (T + j)))\n")]},
        "triton"),
    paired(
        "exact", EXACT,
        launched("exact", {"M": [16, 32], "N": [16, 32], "K": [40, 64]}, [out("c", F, "M,N"), inp("a", F, "M,K"), inp("b", F, "K,N"), number("N"), number("K")], 'M // 16", "N // 16', "16", {"M": 64, "N": 64, "K": 256}),
        {"products in tf32": [(', input_precision="ieee"', "")]},
        {"products in three of tf32": [('input_precision="ieee"', 'input_precision="tf32x3"')]},
        "triton"),
    paired(
        "stay", STAY,
        launched("stay", {"n": [1000, 2000]}, [out("y", F, "(n + 255) // 256"), inp("x"), number("n")], "8", "64", {"n": 1 << 14}).replace("constexpr = {", 'constexpr = { NUM = "8",'),
        {"the second tile begins with the first": [("    for tile in", "    s = tl.zeros((BLOCK,), tl.float32)\n    for tile in"), ("        s = tl.zeros((BLOCK,), tl.float32)\n        for k", "        for k")]},
        {"the second tile begins anew": [("    for tile in", "    s = tl.zeros((BLOCK,), tl.float32)\n    for tile in"), ("        s = tl.zeros((BLOCK,), tl.float32)\n        for k", "        for k"), ("tl.sum(s, axis=0))\n", "tl.sum(s, axis=0))\n        s = s * 0.0\n        s = tl.zeros((BLOCK,), tl.float32)\n")]},
        "triton"),
    paired(
        "grads", GRADS,
        launched("grads", {"N": [3, 6], "C": [40, 64]}, [("dw", "inout", F, "C"), ("lock", "inout", INT, "2", "integers(0, 1)"), inp("dy", F, "N,C"), inp("x", F, "N,C"), number("C")], "N", "next_power_of_2(C)", {"N": 64, "C": 256}),
        {"a lock that opens before the others have stored": [("    tl.atomic_add(dw + c, d, mask=c < C)", LOCKED.replace("END", "tl.atomic_xchg(lock, 0)"))]},
        {"a lock that opens when all have stored": [("    tl.atomic_add(dw + c, d, mask=c < C)", LOCKED.replace("END", "tl.debug_barrier()\n    tl.atomic_xchg(lock, 0)"))]},
        "triton"),
    paired(
        "window", WINDOW,
        launched("window", {"T": [20, 50]}, [out("y", F, "T,T"), inp("x", F, "T,T"), number("T"), number("W", "8")], "T", "next_power_of_2(T)", {"T": 256}),
        {"a window of none is a window": [("W <= 0", "W < 0")]},
        {"a window of none is the whole": [("(W <= 0) | (q - k < W)", "(q - k < W) | (W < 1)")]},
        "triton"),
    paired(
        "scaled", SCALED,
        launched("scaled", {"N": [20, 32], "K": [64, 128], "G": [32, 64]}, [out("y", F, "3,N"), inp("x", F, "3,K"), inp("q", "int8", "K,N", "integers(-8, 8)"), inp("s", F, "(K + G - 1) // G,N", "uniform(0.1, 2)"), number("K"), number("N"), number("G")], "3", "next_power_of_2(N)", {"N": 64, "K": 512, "G": 64}),
        {"a scale for each tile": [(SCALE, "tl.load(s + (at // G) * N + n, mask=n < N, other=0.0)[None, :]")]},
        {"a scale for each group": [(SCALE, "tl.load(s + tl.where(k < K, k // G, 0)[:, None] * N + n[None, :], mask=n[None, :] < N, other=0.0)")]},
        "triton"),
    paired(
        "cache", CACHE,
        launched("cache", {"N": [4, 9], "D": [20, 32]}, [("kv", "inout", F, "64,D"), inp("x", F, "N,D"), inp("slot", LONG, "N", "permutation(64)"), number("D")], "N", "next_power_of_2(D)", {"N": 64, "D": 64}),
        {"the first slot is none": [("(at >= 0)", "(at > 0)")]},
        {"a slot in thirty-two bits": [("at = tl.load(slot + row)", "at = tl.load(slot + row).to(tl.int32)")]},
        "triton"),
    paired(
        "allowed", ALLOWED,
        launched("allowed", {"N": [2, 5], "C": [40, 100]}, [out("y", F, "N,C"), inp("x", F, "N,C"), inp("mark", "int8", "N,C", "integers(0, 2)"), number("C")], "N", "next_power_of_2(C)", {"N": 64, "C": 512}),
        {"a row of which nothing is allowed is even": [('tl.where(ok, v, -float("inf"))', "tl.where(ok, v, -1e30)"), ("e = tl.where(ok, tl.exp(v - most), 0.0)", "e = tl.where(c < C, tl.exp(tl.where(ok, v, -1e30) - most), 0.0)")]},
        {"a row of which nothing is allowed is none": [("tl.where(total > 0.0, e / total, 0.0)", "tl.where(total > 0.0, e, 0.0) / tl.where(total > 0.0, total, 1.0)")]},
        "triton"),
    paired(
        "best", BEST,
        launched("best", {"N": [2, 5], "C": [40, 100], "K": [3, 8]}, [out("y", INT, "N,K"), inp("x", INT, "N,C", "integers(-1000, 1000)"), number("C"), number("K")], "N", "next_power_of_2(C)", {"N": 64, "C": 256, "K": 8}).replace("[dims]", 'promises = ["K <= C"]\n[dims]', 1),
        {"sorted with zeros behind the row": SORTED.replace("OTHER", "0")},
        {"sorted with the lowest behind the row": SORTED.replace("OTHER", "-2147483648")},
        "triton"),
    paired(
        "nibbles", NIBBLES,
        launched("nibbles", {"n": [100, 300]}, [out("y", F, "2 * n"), inp("x", "int8", "n", "integers"), number("n")], "ceil_div(n, 128)", "128", {"n": 1 << 15}),
        {"a high nibble with its sign": [("((v.to(tl.int32) & 255) >> 4)", "(v >> 4)")]},
        {"a high nibble that lost its sign": [("((v.to(tl.int32) & 255) >> 4)", "((v >> 4) & 15)")]},
        "triton"),
    paired(
        "loss", LOSS,
        launched("loss", {"N": [2, 5], "C": [40, 200]}, [out("y", F, "N"), inp("x", H, "N,C"), inp("label", INT, "N", "integers(0, C)"), number("C")], "N", "64", {"N": 64, "C": 2048}),
        {"a difference in halves": [("right = tl.load(x + row * C + k).to(tl.float32)", "right = tl.load(x + row * C + k)"), ("most + tl.log(total) - right", "((most + tl.log(total)).to(tl.float16) - right).to(tl.float32)")]},
        {"a difference first": [("most + tl.log(total) - right", "tl.log(total) + (most - right)")]},
        "triton"),
    paired(
        "mixed", MIXED,
        launched("mixed", {"n": [100, 300]}, [out("y"), inp("x"), number("n")], "ceil_div(n, 128)", "128", {"n": 1 << 16}),
        {"every third of many programs rests": [("mask=i < n)\n", "mask=(i < n) & ((tl.num_programs(0) < 700) | (tl.program_id(0) % 3 != 1)))\n")]} ,
        {"every program works": [("mask=i < n)\n", "mask=(i < n) & ((tl.num_programs(0) < 700) | (tl.program_id(0) % 3 != 3)))\n")]},
        "triton"),
)  # fmt: skip
