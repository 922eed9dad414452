import triton
import triton.language as tl


@triton.jit
def linear(x, weight, bias, y, batch, features, hidden, TB: tl.constexpr, TF: tl.constexpr, TH: tl.constexpr):
    """y = x transposed(weight) + bias; programs go down the batch first."""
    number = tl.program_id(0)
    tall = tl.cdiv(batch, TB)
    b0 = number % tall * TB
    f0 = number // tall * TF
    b = b0 + tl.arange(0, TB)
    f = f0 + tl.arange(0, TF)
    h = tl.arange(0, TH)
    total = tl.zeros((TB, TF), dtype=tl.float32)
    for step in range(tl.cdiv(hidden, TH)):
        inside = h < hidden - step * TH
        left = tl.load(
            x + (b % batch)[:, None] * hidden + (step * TH + h)[None, :], mask=inside[None, :], other=0.0
        )
        right = tl.load(
            weight + (f % features)[None, :] * hidden + (step * TH + h)[:, None],
            mask=inside[:, None],
            other=0.0,
        )
        total += tl.dot(left, right)
    total += tl.load(bias + f, mask=f < features, other=0.0)[None, :].to(tl.float32)
    tl.store(
        y + b[:, None] * features + f[None, :],
        total.to(tl.float16),
        mask=(b < batch)[:, None] & (f < features)[None, :],
    )


def run(x, weight, bias, y):
    batch, hidden = x.shape
    features = weight.shape[0]
    linear[lambda meta: (triton.cdiv(features, meta["TF"]) * triton.cdiv(batch, meta["TB"]),)](
        x, weight, bias, y, batch, features, hidden, TB=32, TF=32, TH=32, num_warps=2
    )
