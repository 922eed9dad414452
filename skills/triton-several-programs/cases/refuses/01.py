import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({}, num_warps=w) for w in (1, 4)], key=["n"])
@triton.jit
def leaky_relu(x_ptr, out_ptr, slope, n):
    i = tl.program_id(0)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, tl.where(x > 0, x, x * slope))


def run(x, slope=0.01):
    out = torch.empty_like(x)
    leaky_relu[(x.numel(),)](x, out, slope, x.numel())
    return out
