import torch
import triton
import triton.language as tl


@triton.jit
def bmm_kernel(a, b, c, M, N, K, BK: tl.constexpr):
    # a program computes one element of one product of a batch
    pid = tl.program_id(0)
    n = pid % N
    m = (pid // N) % M
    batch = pid // (N * M)
    acc = tl.zeros((BK,), dtype=tl.float32)
    for k in range(0, K, BK):
        i = k + tl.arange(0, BK)
        left = tl.load(a + batch * M * K + m * K + i, mask=i < K, other=0.0)
        right = tl.load(b + batch * K * N + i * N + n, mask=i < K, other=0.0)
        acc += left.to(tl.float32) * right.to(tl.float32)
    tl.store(c + pid, tl.sum(acc, axis=0))


def bmm(a, b):
    batch, m, k = a.shape
    n = b.shape[2]
    c = torch.empty(batch, m, n, device=a.device, dtype=torch.float32)
    bmm_kernel[(batch * m * n,)](a, b, c, m, n, k, BK=64)
    return c
