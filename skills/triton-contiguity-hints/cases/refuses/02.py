# because: no anchor
import triton
import triton.language as tl


@triton.jit
def gate_channels(out, x, gain, n, channels, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    channel = tl.multiple_of(offsets % channels, 4)
    y = tl.load(x + offsets, mask=inside) * tl.load(gain + channel, mask=inside)
    tl.store(out + offsets, y, mask=inside)
