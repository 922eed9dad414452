import torch
import triton
import triton.language as tl


@triton.jit
def outer_kernel(u, v, out, M, N, BLOCK: tl.constexpr):
    # batched outer products; a program writes one row of one of them
    b = tl.program_id(1)
    m = tl.program_id(0)
    scale = tl.load(u + b * M + m)
    for start in range(0, N, BLOCK):
        n = start + tl.arange(0, BLOCK)
        row = tl.load(v + b * N + n, mask=n < N)
        tl.store(out + (b * M + m) * N + n, scale * row, mask=n < N)


def outer(u, v):
    b, m = u.shape
    n = v.shape[1]
    out = torch.empty(b, m, n, device=u.device)
    outer_kernel[(m, b)](u, v, out, m, n, BLOCK=32)
    return out
