import torch
import triton
import triton.language as tl


@triton.jit
def leaky_relu(x_ptr, out_ptr, slope, SPAN: tl.constexpr, COUNT: tl.constexpr):
    i = tl.program_id(0) * SPAN + tl.arange(0, SPAN)
    inside = i < COUNT
    x = tl.load(x_ptr + i, mask=inside)
    tl.store(out_ptr + i, tl.where(x > 0, x, x * slope), mask=inside)


def run(x, slope=0.01):
    out = torch.empty_like(x)
    leaky_relu[(triton.cdiv(x.numel(), 1024),)](x, out, slope, SPAN=1024, COUNT=x.numel(), num_warps=4)
    return out
