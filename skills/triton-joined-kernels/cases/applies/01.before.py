# kernel: affine
import torch
import triton
import triton.language as tl


@triton.jit
def affine(x_ptr, y_ptr, a, b, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, a * x + b, mask=i < n)


@triton.jit
def positive(y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(y_ptr + i, mask=i < n)
    tl.store(z_ptr + i, tl.maximum(y, 0.0), mask=i < n)


def run(x, a, b):
    y = torch.empty_like(x)
    z = torch.empty_like(x)
    n = x.numel()
    grid = (triton.cdiv(n, 1024),)
    affine[grid](x, y, a, b, n, BLOCK=1024)
    positive[grid](y, z, n, BLOCK=1024)
    return z
