import torch
import triton
import triton.language as tl


@triton.jit
def row_sum(x, out, N):
    r = tl.program_id(axis=0)
    s = 0.0
    for j in range(N):
        s += tl.load(x + r * N + j)
    tl.store(out + r, s)


def row_sums(x):
    m, n = x.shape
    out = torch.empty((m,), device=x.device, dtype=torch.float32)
    row_sum[(m,)](x, out, n)
    return out
