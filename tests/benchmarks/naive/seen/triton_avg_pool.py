import torch
import triton
import triton.language as tl


@triton.jit
def avg_pool(x, y, H, W, OH, OW, K: tl.constexpr):
    # K x K windows side by side; a program for an output
    pid = tl.program_id(0)
    ow = pid % OW
    oh = (pid // OW) % OH
    plane = pid // (OW * OH)
    total = 0.0
    for i in range(K):
        for j in range(K):
            total += tl.load(x + plane * H * W + (oh * K + i) * W + ow * K + j)
    tl.store(y + pid, total / (K * K))


def pool(x, k=2):
    n, c, h, w = x.shape
    y = torch.empty(n, c, h // k, w // k, device=x.device)
    avg_pool[(n * c * (h // k) * (w // k),)](x, y, h, w, h // k, w // k, K=k)
    return y
