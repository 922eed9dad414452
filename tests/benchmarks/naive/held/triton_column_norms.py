import triton
import triton.language as tl


@triton.jit
def column_norms(norms, matrix, height, width, pitch, LANES: tl.constexpr):
    lane = tl.program_id(0) * LANES + tl.arange(0, LANES)
    here = matrix + lane
    acc = tl.zeros((LANES,), dtype=tl.float32)
    for _ in range(height):
        v = tl.load(here, mask=lane < width, other=0.0).to(tl.float32)
        acc += v * v
        here += pitch
    tl.store(norms + lane, tl.sqrt(acc), mask=lane < width)


def run(norms, matrix):
    height, width = matrix.shape
    column_norms[(triton.cdiv(width, 512),)](norms, matrix, height, width, matrix.stride(0), LANES=512)
