# because: no anchor
import triton
import triton.language as tl


@triton.jit
def longest(out, x, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0) * n_cols
    best = tl.full([BLOCK], 0.0, dtype=tl.float32)
    for start in tl.range(0, n_cols, BLOCK, num_stages=3):
        cols = start + tl.arange(0, BLOCK)
        best = tl.maximum(best, tl.abs(tl.load(x + row + cols, mask=cols < n_cols, other=0.0)))
    tl.store(out + tl.program_id(0), tl.max(best, axis=0))
