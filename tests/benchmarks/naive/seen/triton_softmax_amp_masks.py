import torch
import triton
import triton.language as tl


@triton.jit
def softmax_fwd(out, inp, scale, row_len, valid, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs = tl.arange(0, BLOCK)
    keep = (offs < row_len) & (offs < valid)
    x = tl.load(inp + row * row_len + offs, mask=keep, other=-float("inf")).to(tl.float32) * scale
    x -= tl.max(x, 0)
    p = tl.exp(x)
    p = p / tl.sum(p, 0)
    tl.store(out + row * row_len + offs, p.to(out.dtype.element_ty), mask=offs < row_len)


def masked_softmax(x, scale, valid):
    rows, n = x.shape
    out = torch.empty_like(x)
    softmax_fwd[(rows,)](out, x, scale, n, valid, BLOCK=triton.next_power_of_2(n), num_warps=1)
    return out
