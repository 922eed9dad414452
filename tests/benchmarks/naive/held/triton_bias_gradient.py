import triton
import triton.language as tl


@triton.jit
def bias_gradient(grad, bias, batch, width, stride, ROWS: tl.constexpr, COLS: tl.constexpr):
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    acc = tl.zeros((ROWS, COLS), tl.float32)
    for start in range(tl.cdiv(batch, ROWS)):
        row = start * ROWS + tl.arange(0, ROWS)
        ok = (row < batch)[:, None] & (col < width)[None, :]
        acc += tl.load(grad + row[:, None] * stride + col[None, :], mask=ok, other=0.0)
    tl.store(bias + col, tl.sum(acc, axis=0), mask=col < width)


def run(grad, bias):
    batch, width = grad.shape
    grid = (triton.cdiv(width, 128),)
    bias_gradient[grid](grad, bias, batch, width, grad.stride(0), ROWS=4, COLS=128)
