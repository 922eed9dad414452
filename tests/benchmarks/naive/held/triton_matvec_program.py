import torch
import triton
import triton.language as tl


@triton.jit
def matvec(A, x, y, M, N, BLOCK_N: tl.constexpr):
    pid = tl.program_id(0)
    total = 0.0
    for start in range(0, N, BLOCK_N):
        offs = start + tl.arange(0, BLOCK_N)
        mask = offs < N
        a = tl.load(A + pid * N + offs, mask=mask, other=0.0)
        v = tl.load(x + offs, mask=mask, other=0.0)
        total += tl.sum(a * v, axis=0)
    tl.store(y + pid, total)


def mv(A, x):
    M, N = A.shape
    y = torch.empty(M, device=A.device, dtype=A.dtype)
    matvec[(M,)](A, x, y, M, N, BLOCK_N=64)
    return y
