import torch
import triton
import triton.language as tl


@triton.jit
def linear(x_ptr, w_ptr, y_ptr, rows, outputs, inputs, ROWS: tl.constexpr, OUTPUTS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    o = tl.program_id(1) * OUTPUTS + tl.arange(0, OUTPUTS)
    total = tl.zeros((ROWS, OUTPUTS), dtype=tl.float32)
    for i in range(inputs):
        x = tl.load(x_ptr + r * inputs + i, mask=r < rows, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + o * inputs + i, mask=o < outputs).to(tl.float32)
        total += x[:, None] * w[None, :]
    tl.store(y_ptr + r[:, None] * outputs + o[None, :], total, mask=(r[:, None] < rows) & (o[None, :] < outputs))


def run(x, w, y):
    rows, inputs = x.shape
    outputs = w.shape[0]
    linear[(triton.cdiv(rows, 32), triton.cdiv(outputs, 32))](x, w, y, rows, outputs, inputs, ROWS=32, OUTPUTS=32)
