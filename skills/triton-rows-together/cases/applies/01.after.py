import torch
import triton
import triton.language as tl


@triton.jit
def column_squares(out, x, rows, columns, WIDTH: tl.constexpr, ROWS: tl.constexpr):
    c = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    total = tl.zeros((WIDTH,), dtype=tl.float32)
    total_parts = tl.full((ROWS, WIDTH), 0, total.dtype)
    for first in range(0, rows, ROWS):
        r = first + tl.arange(0, ROWS)[:, None]
        v = tl.load(x + r * columns + c, mask=(c < columns) & (r < rows), other=0.0)
        total_parts += tl.where(r < rows, (v * v).to(total.dtype), 0)
    total += tl.sum(total_parts, axis=0)
    tl.store(out + c, total, mask=c < columns)


def run(x):
    rows, columns = x.shape
    out = torch.empty(columns, device=x.device)
    column_squares[(triton.cdiv(columns, 16),)](out, x, rows, columns, WIDTH=16, ROWS=512, num_warps=16)
    return out
