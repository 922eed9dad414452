"""Triton kernels that are made wrong on purpose."""

import triton
import triton.language as tl


@triton.jit
def add(y, a, b, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(a + i, mask=i < n, other=0.0)
    right = tl.load(b + i, mask=i < n, other=0.0)
    tl.store(y + i, left - 2.0 * right, mask=i < n)


@triton.jit
def softmax(y, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    values = tl.load(x + row * C + i, mask=i < C, other=-float("inf"))
    shifted = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * C + i, shifted / tl.sum(shifted, axis=0), mask=i < C)


@triton.jit
def layernorm(y, x, w, b, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, C, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * C + i, mask=i < C, other=0.0)
    mean = tl.sum(total, axis=0) / C
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, C, BLOCK):
        i = start + tl.arange(0, BLOCK)
        apart = tl.where(i < C, tl.load(x + row * C + i, mask=i < C, other=0.0) - mean, 0.0)
        squares += apart * apart
    scale = tl.rsqrt(tl.sum(squares, axis=0) / C + 1e-3)
    for start in range(0, C, BLOCK):
        i = start + tl.arange(0, BLOCK)
        normal = (tl.load(x + row * C + i, mask=i < C, other=0.0) - mean) * scale
        weight = tl.load(w + i, mask=i < C, other=0.0)
        shift = tl.load(b + i, mask=i < C, other=0.0)
        tl.store(y + row * C + i, normal * weight + shift, mask=i < C)


@triton.jit
def matmul(c, a, b, M, N, K, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        i = k + tl.arange(0, BLOCK)
        left = tl.load(
            a + rows[:, None] * K + i[None, :], mask=(rows[:, None] < M) & (i[None, :] < K), other=0.0
        )
        right = tl.load(
            b + i[:, None] * N + columns[None, :], mask=(i[:, None] < K) & (columns[None, :] < N), other=0.0
        )
        total += tl.dot(left, right, input_precision="ieee")
    keep = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * N + columns[None, :], total, mask=keep)


@triton.jit
def dropout(y, x, chance, n, p, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + i, mask=i < n, other=0.0)
    kept = tl.load(chance + i, mask=i < n, other=0) > p
    tl.store(y + i, tl.where(kept, values * 2.0, 0.0), mask=i < n)


@triton.jit
def running_sum(y, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    values = tl.load(x + row * C + i, mask=i < C, other=0.0)
    tl.store(y + row * C + i, tl.cumsum(values, axis=0), mask=i < C)


@triton.jit
def transpose(y, x, M, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    keep = (i[:, None] < M) & (j[None, :] < N)
    tile = tl.load(x + i[:, None] * N + j[None, :], mask=keep, other=0.0)
    tl.store(y + j[:, None] * M + i[None, :], tl.trans(tile), mask=tl.trans(keep))


@triton.jit
def log_sum_exp(y, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    most = -float("inf")
    total = 0.0
    for start in range(0, C, BLOCK):
        i = start + tl.arange(0, BLOCK)
        values = tl.load(x + row * C + i, mask=i < C, other=-float("inf"))
        larger = tl.maximum(most, tl.max(values, axis=0))
        total = total * tl.exp(most - larger) + tl.sum(tl.exp(values - larger), axis=0)
        most = larger
    tl.store(y + row, most + tl.log(total))
