# facts: TAPS = 4
import triton
import triton.language as tl


@triton.jit
def mix(out, x, weight, n_cols, TAPS: tl.constexpr, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for tap in range(TAPS):
        acc += tl.load(weight + tap) * tl.load(x + cols + tap, mask=cols < n_cols, other=0.0)
    tl.store(out + cols, acc, mask=cols < n_cols)
