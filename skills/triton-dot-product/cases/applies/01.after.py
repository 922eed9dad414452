import torch
import triton
import triton.language as tl


@triton.jit
def linear(x_ptr, w_ptr, y_ptr, rows, outputs, inputs, ROWS: tl.constexpr, OUTPUTS: tl.constexpr, BLOCK_K: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    o = tl.program_id(1) * OUTPUTS + tl.arange(0, OUTPUTS)
    total = tl.zeros((ROWS, OUTPUTS), dtype=tl.float32)
    for first in range(0, inputs, BLOCK_K):
        i = first + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + r[:, None] * inputs + i[None, :], mask=(r[:, None] < rows) & (i[None, :] < inputs), other=0)
        w = tl.load(w_ptr + o[None, :] * inputs + i[:, None], mask=(o[None, :] < outputs) & (i[:, None] < inputs), other=0)
        total += tl.dot(x, w, input_precision="ieee")
    tl.store(y_ptr + r[:, None] * outputs + o[None, :], total, mask=(r[:, None] < rows) & (o[None, :] < outputs))


def run(x, w, y):
    rows, inputs = x.shape
    outputs = w.shape[0]
    linear[(triton.cdiv(rows, 128), triton.cdiv(outputs, 256))](x, w, y, rows, outputs, inputs, ROWS=128, OUTPUTS=256, BLOCK_K=64, num_warps=8, num_stages=3)
