"""Triton kernels of our own, in the manner of its tutorials, for the comparison with float64."""

import triton
import triton.language as tl


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = i < n
    tl.store(out + i, tl.load(x + i, mask=keep) + tl.load(y + i, mask=keep), mask=keep)


@triton.jit
def fused_softmax(x, out, rows, columns, BLOCK: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        i = tl.arange(0, BLOCK)
        values = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf"))
        shifted = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + row * columns + i, shifted / tl.sum(shifted, axis=0), mask=i < columns)


@triton.jit
def layer_norm(x, w, b, out, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * columns + i, mask=i < columns, other=0.0)
    mean = tl.sum(total, axis=0) / columns
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        apart = tl.where(i < columns, tl.load(x + row * columns + i, mask=i < columns, other=0.0) - mean, 0.0)
        squares += apart * apart
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / columns + eps)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        keep = i < columns
        normal = (tl.load(x + row * columns + i, mask=keep) - mean) * scale
        tl.store(
            out + row * columns + i, normal * tl.load(w + i, mask=keep) + tl.load(b + i, mask=keep), mask=keep
        )


@triton.jit
def seeded_dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kept = tl.rand(seed, i) > p
    values = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.where(kept, values / (1 - p), 0.0), mask=i < n)


@triton.jit
def running_sum(x, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + i, mask=i < columns, other=0.0)
    tl.store(out + row * columns + i, tl.cumsum(values, axis=0), mask=i < columns)


@triton.jit
def log_sum_exp(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    most, total = -float("inf"), 0.0
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        values = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf"))
        larger = tl.maximum(most, tl.max(values, axis=0))
        total = total * tl.exp(most - larger) + tl.sum(tl.exp(values - larger), axis=0)
        most = larger
    tl.store(out + row, most + tl.log(total))


@triton.jit
def row_argmax(x, out, at, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf"))
    most, where = tl.max(values, axis=0, return_indices=True)
    tl.store(out + row, most)
    tl.store(at + row, where.to(tl.float32))


@triton.jit
def embedding(table, tokens, out, columns, BLOCK: tl.constexpr):
    position, i = tl.program_id(0), tl.arange(0, BLOCK)
    row = tl.load(tokens + position)
    values = tl.load(table + row * columns + i, mask=i < columns)
    tl.store(out + position * columns + i, values, mask=i < columns)


@triton.jit
def binned_sum(x, bins, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = i < n
    tl.atomic_add(
        out + tl.load(bins + i, mask=keep, other=0), tl.load(x + i, mask=keep, other=0.0), mask=keep
    )


@triton.jit
def sorted_rows(x, out, COLUMNS: tl.constexpr):
    at = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    tl.store(out + at, tl.sort(tl.load(x + at)))


@triton.jit
def transposed(x, out, m, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    keep = (i[:, None] < m) & (j[None, :] < n)
    tile = tl.load(x + i[:, None] * n + j[None, :], mask=keep)
    tl.store(out + j[:, None] * m + i[None, :], tl.trans(tile), mask=tl.trans(keep))


@triton.jit
def matmul(a, b, out, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        i = start + tl.arange(0, BK)
        left = tl.load(
            a + rows[:, None] * k + i[None, :], mask=(rows[:, None] < m) & (i[None, :] < k), other=0.0
        )
        right = tl.load(
            b + i[:, None] * n + columns[None, :], mask=(i[:, None] < k) & (columns[None, :] < n), other=0.0
        )
        total = tl.dot(left, right, total)
    keep = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(out + rows[:, None] * n + columns[None, :], total, mask=keep)


@triton.jit
def grouped_matmul(a, b, out, starts, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    group = tl.program_id(0)
    first, last = tl.load(starts + group), tl.load(starts + group + 1)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    for base in range(first, last, BM):
        rows = base + tl.arange(0, BM)
        total = tl.zeros((BM, BN), tl.float32)
        for start in range(0, k, BK):
            i = start + tl.arange(0, BK)
            left = tl.load(a + rows[:, None] * k + i[None, :], mask=rows[:, None] < last, other=0.0)
            right = tl.load(
                b + (group * k + i[:, None]) * n + columns[None, :], mask=columns[None, :] < n, other=0.0
            )
            total = tl.dot(left, right, total)
        keep = (rows[:, None] < last) & (columns[None, :] < n)
        tl.store(out + rows[:, None] * n + columns[None, :], total, mask=keep)
