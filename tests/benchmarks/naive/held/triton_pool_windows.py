import torch
import triton
import triton.language as tl


@triton.jit
def avg_pool_1d(x, y, L, OUT, W: tl.constexpr):
    # non-overlapping windows of W along the last axis; a program an output
    o = tl.program_id(0)
    row = tl.program_id(1)
    acc = 0.0
    for w in tl.static_range(W):
        acc += tl.load(x + row * L + o * W + w)
    tl.store(y + row * OUT + o, acc / W)


def pool(x, w=4):
    r, n = x.shape
    y = torch.empty(r, n // w, device=x.device)
    avg_pool_1d[(n // w, r)](x, y, n, n // w, W=w)
    return y
