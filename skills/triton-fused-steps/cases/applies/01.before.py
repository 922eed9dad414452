# facts: exclusive(s) = True
import triton
import triton.language as tl


@triton.jit
def square(y, s, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(s + at, mask=at < n)
    tl.store(y + at, v * v, mask=at < n)
