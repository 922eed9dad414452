import triton
import triton.language as tl


@triton.jit
def square(y, s, a, b, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + at, mask=at < n) + tl.load(b + at, mask=at < n)
    tl.store(s + at, v, mask=at < n)
    square_of = v * v
    tl.store(y + at, square_of, mask=at < n)
