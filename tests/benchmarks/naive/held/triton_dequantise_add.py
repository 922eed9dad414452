import torch
import triton
import triton.language as tl


@triton.jit
def dequant_residual_kernel(q, scales, residual, out, rows, cols, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    ok = c < cols
    w = tl.load(q + r * cols + c, mask=ok)
    s = tl.load(scales + r)
    y = w.to(tl.float32) * s
    y = y + tl.load(residual + r * cols + c, mask=ok).to(tl.float32)
    y = tl.minimum(tl.maximum(y, -6.0), 6.0)
    tl.store(out + r * cols + c, y.to(tl.float16), mask=ok)


def dequant_residual(q, scales, residual):
    rows, cols = q.shape
    out = torch.empty_like(residual)
    BLOCK = 64
    dequant_residual_kernel[(rows, triton.cdiv(cols, BLOCK))](q, scales, residual, out, rows, cols, BLOCK)
    return out
