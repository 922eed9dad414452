# facts: toolchain.triton = (1, 1)
# because: toolchain.triton >= (2, 0)
import triton
import triton.language as tl


@triton.jit
def scale_rows(out, x, weight, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    v = tl.load(x + row * n_cols + cols, mask=mask)
    w = tl.load(weight + cols, mask=mask)
    tl.store(out + row * n_cols + cols, v * w, mask=mask)
