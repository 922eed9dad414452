import torch
import triton
import triton.language as tl


@triton.jit
def group_norm(x, w, b, y, C, HW, G, eps, BLOCK: tl.constexpr):
    n = tl.program_id(0)
    g = tl.program_id(1)
    per = C // G
    size = per * HW
    start = n * C * HW + g * size
    s = 0.0
    s2 = 0.0
    for i in range(0, size, BLOCK):
        o = i + tl.arange(0, BLOCK)
        v = tl.load(x + start + o, mask=o < size, other=0.0)
        s += tl.sum(v)
        s2 += tl.sum(v * v)
    mean = s / size
    rstd = 1.0 / tl.sqrt(s2 / size - mean * mean + eps)
    for i in range(0, size, BLOCK):
        o = i + tl.arange(0, BLOCK)
        m = o < size
        v = tl.load(x + start + o, mask=m)
        c = g * per + o // HW
        v = (v - mean) * rstd * tl.load(w + c, mask=m) + tl.load(b + c, mask=m)
        tl.store(y + start + o, v, mask=m)


def forward(x, w, b, groups, eps=1e-5):
    n, c, h, wd = x.shape
    y = torch.empty_like(x)
    group_norm[(n, groups)](x, w, b, y, c, h * wd, groups, eps, BLOCK=128)
    return y
