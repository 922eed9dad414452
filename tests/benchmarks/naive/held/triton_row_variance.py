import triton
import triton.language as tl


@triton.jit
def variance(x, v, n, BLOCK: tl.constexpr):
    base = x + tl.program_id(0) * n
    total = 0.0
    for first in range(0, n, BLOCK):
        i = first + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(base + i, mask=i < n, other=0.0), axis=0)
    mean = total / n
    squares = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, n, BLOCK):
        i = first + tl.arange(0, BLOCK)
        d = tl.where(i < n, tl.load(base + i, mask=i < n, other=0.0) - mean, 0.0)
        squares += d * d
    tl.store(v + tl.program_id(0), tl.sum(squares, axis=0) / n)


def run(x, v):
    rows, n = x.shape
    variance[(rows,)](x, v, n, BLOCK=64)
