import triton
import triton.language as tl


@triton.jit
def gelu_kernel(x_ptr, y_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    start = tl.program_id(axis=0) * BLOCK_SIZE
    offsets = start + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    y = x * 0.5 * (1.0 + tl.erf(x * 0.70710678))
    tl.store(y_ptr + offsets, y, mask=mask)


def gelu(x, y):
    n_elements = x.numel()
    gelu_kernel[(triton.cdiv(n_elements, 256),)](x, y, n_elements, BLOCK_SIZE=256)
