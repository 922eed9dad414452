# because: not kernel.has("global_atomics")
import torch
import triton
import triton.language as tl


@triton.jit
def total(out, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0.0)
    tl.atomic_add(out, tl.sum(v))


def sum_of(x):
    out = torch.zeros((), device=x.device)
    n = x.numel()
    total[(triton.cdiv(n, 1024),)](out, x, n, BLOCK=1024)
    return out
