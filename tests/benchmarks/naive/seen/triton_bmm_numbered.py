import torch
import triton
import triton.language as tl


@triton.jit
def bmm(a, b, c, M, N, K, BK: tl.constexpr):
    # one program for one output: batch, row and column are taken out of its number
    pid = tl.program_id(0)
    n = pid % N
    m = (pid // N) % M
    batch = pid // (N * M)
    acc = tl.zeros((BK,), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        left = tl.load(a + (batch * M + m) * K + k, mask=k < K, other=0.0)
        right = tl.load(b + (batch * K + k) * N + n, mask=k < K, other=0.0)
        acc += left.to(tl.float32) * right.to(tl.float32)
    tl.store(c + pid, tl.sum(acc, axis=0))


def run(a, b):
    B, M, K = a.shape
    N = b.shape[2]
    c = torch.empty(B, M, N, device=a.device)
    bmm[(B * M * N,)](a, b, c, M, N, K, BK=64)
    return c
