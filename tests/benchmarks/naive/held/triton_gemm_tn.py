import triton
import triton.language as tl


@triton.jit
def gemm_tn(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c = transposed(a) b, with a of k rows."""
    i = tl.program_id(1) * BM + tl.arange(0, BM)
    j = tl.program_id(0) * BN + tl.arange(0, BN)
    p = tl.arange(0, BK)
    at = a + p[:, None] * m + i[None, :]
    bt = b + p[:, None] * n + j[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(tl.cdiv(k, BK)):
        deep = p < k - step * BK
        x = tl.load(at, mask=deep[:, None] & (i < m)[None, :], other=0.0)
        y = tl.load(bt, mask=deep[:, None] & (j < n)[None, :], other=0.0)
        acc = tl.dot(tl.trans(x), y, acc)
        at += BK * m
        bt += BK * n
    tl.store(c + i[:, None] * n + j[None, :], acc.to(tl.float16), mask=(i < m)[:, None] & (j < n)[None, :])


def run(a, b, c):
    k, m = a.shape
    n = b.shape[1]
    gemm_tn[(triton.cdiv(n, 32), triton.cdiv(m, 32))](a, b, c, m, n, k, BM=32, BN=32, BK=32)
