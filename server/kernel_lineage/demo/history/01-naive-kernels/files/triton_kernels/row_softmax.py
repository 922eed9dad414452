"""Softmax over the rows of a matrix, one program per row."""

import triton
import triton.language as tl


@triton.jit
def row_softmax(out_ptr, x_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    maximum = -float("inf")
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + cols, mask=cols < n_cols, other=-float("inf"))
        maximum = tl.maximum(maximum, tl.max(x, axis=0))
    total = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + cols, mask=cols < n_cols, other=-float("inf"))
        total += tl.sum(tl.exp(x - maximum), axis=0)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + cols, mask=cols < n_cols, other=-float("inf"))
        tl.store(out_ptr + row * stride + cols, tl.exp(x - maximum) / total, mask=cols < n_cols)


def softmax(out, x):
    n_rows, n_cols = x.shape
    row_softmax[(n_rows,)](out, x, x.stride(0), n_cols, BLOCK=64)
    return out
