# facts: C = 4096, exclusive(x) = True, toolchain.triton = (3, 6)
# because: R <= 1024
import triton
import triton.language as tl


@triton.jit
def centre_columns(y, x, C, S, BLOCK: tl.constexpr):
    s = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for c in range(C):
        total += tl.load(x + c * S + s, mask=s < S, other=0.0)
    for c in range(C):
        v = tl.load(x + c * S + s, mask=s < S, other=0.0)
        tl.store(y + c * S + s, v - total / C, mask=s < S)
