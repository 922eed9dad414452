import triton
import triton.language as tl


@triton.jit
def adam_step(p, m, v, g, lr, beta1, beta2, eps, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = offs < n
    grad = tl.load(g + offs, mask=keep).to(tl.float32)
    m_new = beta1 * tl.load(m + offs, mask=keep) + (1 - beta1) * grad
    v_new = beta2 * tl.load(v + offs, mask=keep) + (1 - beta2) * grad * grad
    w = tl.load(p + offs, mask=keep).to(tl.float32)
    w -= lr * m_new / (tl.sqrt(v_new) + eps)
    tl.store(p + offs, w.to(tl.bfloat16), mask=keep)
    tl.store(m + offs, m_new, mask=keep)
    tl.store(v + offs, v_new, mask=keep)


def step(p, m, v, g, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8):
    n = p.numel()
    adam_step[(triton.cdiv(n, 128),)](p, m, v, g, lr, beta1, beta2, eps, n, BLOCK=128)
