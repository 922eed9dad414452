import torch
import triton
import triton.language as tl


@triton.jit
def bmm_kernel(A, B, C, M, N, K):
    # a program an element: batch, row, column are the axes of the grid
    b = tl.program_id(0)
    i = tl.program_id(1)
    j = tl.program_id(2)
    acc = 0.0
    for k in range(K):
        acc += tl.load(A + b * M * K + i * K + k) * tl.load(B + b * K * N + k * N + j)
    tl.store(C + b * M * N + i * N + j, acc)


def bmm(A, B):
    n, M, K = A.shape
    N = B.shape[2]
    C = torch.empty(n, M, N, device=A.device)
    bmm_kernel[(n, M, N)](A, B, C, M, N, K)
    return C
