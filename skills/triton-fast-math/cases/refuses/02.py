# because: no anchor
import triton
import triton.language as tl


@triton.jit
def gate_rows(out, x, n_cols, temperature, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    v = tl.load(x + tl.program_id(0) * n_cols + cols, mask=mask, other=0.0)
    size = tl.sum(v * v, axis=0) / n_cols
    e = tl.cos(v * temperature) / size
    tl.store(out + tl.program_id(0) * n_cols + cols, e, mask=mask)
