import triton
import triton.language as tl


@triton.jit
def col_sum_kernel(x_ptr, out_ptr, rows, cols, BLOCK: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for r in range(rows):
        acc += tl.load(x_ptr + r * cols + c, mask=c < cols, other=0.0)
    tl.store(out_ptr + c, acc, mask=c < cols)


def col_sum(x, out):
    rows, cols = x.shape
    col_sum_kernel[(triton.cdiv(cols, 128),)](x, out, rows, cols, BLOCK=128)
