import torch
import triton
import triton.language as tl


@triton.jit
def matmul_element(a, b, c, M, N, K, BK: tl.constexpr):
    """Each program computes a single element of C."""
    m = tl.program_id(0)
    n = tl.program_id(1)
    acc = 0.0
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        left = tl.load(a + m * K + k, mask=k < K, other=0.0)
        right = tl.load(b + k * N + n, mask=k < K, other=0.0)
        acc += tl.sum(left.to(tl.float32) * right.to(tl.float32))
    tl.store(c + m * N + n, acc)


def matmul(a, b):
    M, K = a.shape
    K, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    matmul_element[(M, N)](a, b, c, M, N, K, BK=64)
    return c
