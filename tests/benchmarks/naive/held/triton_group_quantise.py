import torch
import triton
import triton.language as tl


@triton.jit
def quant_group(x_ptr, q_ptr, s_ptr, GROUP: tl.constexpr):
    g = tl.program_id(0)
    offs = g * GROUP + tl.arange(0, GROUP)
    x = tl.load(x_ptr + offs).to(tl.float32)
    s = tl.max(tl.abs(x), axis=0) / 127.0
    q = tl.where(s > 0, x / s, 0.0)
    q = tl.floor(q + 0.5)
    tl.store(q_ptr + offs, q.to(tl.int8))
    tl.store(s_ptr + g, s)


def quantise(x, group=64):
    q = torch.empty_like(x, dtype=torch.int8)
    s = torch.empty(x.numel() // group, device=x.device, dtype=torch.float32)
    quant_group[(x.numel() // group,)](x, q, s, GROUP=group)
    return q, s
