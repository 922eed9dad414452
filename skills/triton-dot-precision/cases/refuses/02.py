# facts: device.compute_capability = (9, 0), toolchain.triton = (2, 1)
# because: toolchain.triton >= (3, 0)
import triton
import triton.language as tl


@triton.jit
def gram(a, out, stride, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tile = tl.load(a + offs[:, None] * stride + offs[None, :])
    tl.store(out + offs[:, None] * BLOCK + offs[None, :], tl.dot(tile, tl.trans(tile), allow_tf32=False))
