# because: not kernel.has("global_atomics")
import triton
import triton.language as tl


@triton.jit
def square(y, s, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(s + at, mask=at < n)
    tl.atomic_add(y, tl.sum(v * v))
