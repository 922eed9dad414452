# because: no anchor
import triton
import triton.language as tl


@triton.jit
def soften(out, x, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0) * n_cols
    cols = tl.arange(0, BLOCK)
    v = tl.load(x + row + cols, mask=cols < n_cols, other=-float("inf"))
    best = tl.max(v, axis=0)
    total = tl.sum(tl.exp(v - best), axis=0)
    tl.store(out + row + cols, tl.exp(v - best) / total, mask=cols < n_cols)
