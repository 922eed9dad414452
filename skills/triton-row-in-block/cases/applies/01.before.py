# facts: n_cols = 1000, launch.num_warps = 4
import triton
import triton.language as tl


@triton.jit
def soften(out, x, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0) * n_cols
    best = -float("inf")
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        v = tl.load(x + row + cols, mask=cols < n_cols, other=-float("inf"))
        best = tl.maximum(best, tl.max(v, axis=0))
    total = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        v = tl.load(x + row + cols, mask=cols < n_cols, other=-float("inf"))
        total += tl.sum(tl.exp(v - best), axis=0)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        v = tl.load(x + row + cols, mask=cols < n_cols)
        tl.store(out + row + cols, tl.exp(v - best) / total, mask=cols < n_cols)
