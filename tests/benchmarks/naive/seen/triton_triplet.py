import torch
import triton
import triton.language as tl


@triton.jit
def triplet_loss(anchor, pos, neg, loss, dim, margin, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    keep = i < dim
    a = tl.load(anchor + b * dim + i, mask=keep, other=0.0)
    p = tl.load(pos + b * dim + i, mask=keep, other=0.0)
    n = tl.load(neg + b * dim + i, mask=keep, other=0.0)
    dp = tl.sqrt(tl.sum((a - p) * (a - p)))
    dn = tl.sqrt(tl.sum((a - n) * (a - n)))
    tl.store(loss + b, tl.maximum(dp - dn + margin, 0.0))


def triplet(a, p, n, margin=1.0):
    batch, dim = a.shape
    loss = torch.empty(batch, device=a.device)
    triplet_loss[(batch,)](a, p, n, loss, dim, margin, BLOCK=triton.next_power_of_2(dim))
    return loss
