import triton
import triton.language as tl


@triton.jit
def gram(a, out, stride, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tile = tl.load(a + offs[:, None] * stride + offs[None, :])
    tl.store(out + offs[:, None] * BLOCK + offs[None, :], tl.dot(tile, tl.trans(tile), input_precision="tf32x3"))
