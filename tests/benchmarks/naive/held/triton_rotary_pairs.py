import torch
import triton
import triton.language as tl


@triton.jit
def rotate_pairs(x_ptr, cos_ptr, sin_ptr, out_ptr, heads, dim, HALF: tl.constexpr):
    # neighbours are rotated by the angle of their position; a program a head of a token
    token = tl.program_id(0)
    head = tl.program_id(1)
    i = tl.arange(0, HALF)
    mask = i < dim // 2
    base = (token * heads + head) * dim
    even = tl.load(x_ptr + base + 2 * i, mask=mask, other=0.0).to(tl.float32)
    odd = tl.load(x_ptr + base + 2 * i + 1, mask=mask, other=0.0).to(tl.float32)
    c = tl.load(cos_ptr + token * (dim // 2) + i, mask=mask, other=0.0)
    s = tl.load(sin_ptr + token * (dim // 2) + i, mask=mask, other=0.0)
    tl.store(out_ptr + base + 2 * i, (even * c - odd * s).to(tl.float16), mask=mask)
    tl.store(out_ptr + base + 2 * i + 1, (even * s + odd * c).to(tl.float16), mask=mask)


def rotary(x, cos, sin):
    t, h, d = x.shape
    out = torch.empty_like(x)
    rotate_pairs[(t, h)](x, cos, sin, out, h, d, HALF=triton.next_power_of_2(d // 2))
    return out
