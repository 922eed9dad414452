import torch
import triton
import triton.language as tl


@triton.jit
def dw_conv(x, w, y, T, C, K: tl.constexpr, BLOCK: tl.constexpr):
    # x, y: [batch, time, channels], causal taps w: [K, channels]
    t = tl.program_id(0)
    b = tl.program_id(1)
    c = tl.arange(0, BLOCK)
    inside = c < C
    acc = tl.zeros((BLOCK,), tl.float32)
    for k in tl.static_range(K):
        at = t - (K - 1) + k
        v = tl.load(x + (b * T + at) * C + c, mask=inside & (at >= 0), other=0.0)
        acc += v.to(tl.float32) * tl.load(w + k * C + c, mask=inside, other=0.0)
    tl.store(y + (b * T + t) * C + c, acc, mask=inside)


def depthwise(x, w):
    b, t, c = x.shape
    y = torch.empty_like(x)
    dw_conv[(t, b)](x, w, y, t, c, K=w.shape[0], BLOCK=triton.next_power_of_2(c))
    return y
