import torch
import triton
import triton.language as tl


@triton.jit
def leaky_relu(x_ptr, out_ptr, slope):
    i = tl.program_id(0)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, tl.where(x > 0, x, x * slope))


def run(x, slope=0.01):
    out = torch.empty_like(x)
    leaky_relu[(x.numel(),)](x, out, slope)
    return out
