import triton
import triton.language as tl


@triton.jit
def rope_halves(q, cos, sin, n_heads, HALF: tl.constexpr):
    # tokens x heads x twice HALF, rotated in place
    pid = tl.program_id(0)
    token = pid // n_heads
    d = tl.arange(0, HALF)
    base = q + pid * 2 * HALF
    lo = tl.load(base + d).to(tl.float32)
    hi = tl.load(base + HALF + d).to(tl.float32)
    c = tl.load(cos + token * HALF + d)
    s = tl.load(sin + token * HALF + d)
    tl.store(base + d, (lo * c - hi * s).to(tl.bfloat16))
    tl.store(base + HALF + d, (hi * c + lo * s).to(tl.bfloat16))


def apply_rope(q, cos, sin):
    tokens, heads, dim = q.shape
    rope_halves[(tokens * heads,)](q, cos, sin, heads, HALF=dim // 2)
    return q
