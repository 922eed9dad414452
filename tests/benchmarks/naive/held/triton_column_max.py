import triton
import triton.language as tl


@triton.jit
def column_max(src, dst, height, width, SPAN: tl.constexpr):
    col = tl.program_id(0) * SPAN + tl.arange(0, SPAN)
    best = tl.full((SPAN,), float("-inf"), tl.float32)
    for i in range(height):
        line = tl.load(src + i * width + col, mask=col < width, other=float("-inf"))
        best = tl.maximum(best, line)
    tl.store(dst + col, best, mask=col < width)


def run(src, dst):
    height, width = src.shape
    column_max[(triton.cdiv(width, 256),)](src, dst, height, width, SPAN=256)
