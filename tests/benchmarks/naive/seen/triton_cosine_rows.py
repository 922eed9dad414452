import torch
import triton
import triton.language as tl


@triton.jit
def cosine_similarity_kernel(
    a_ptr,
    b_ptr,
    out_ptr,
    stride_a,
    stride_b,
    N,
    eps,
    BLOCK: tl.constexpr,
):
    pid = tl.program_id(0)
    a_ptr += pid * stride_a
    b_ptr += pid * stride_b
    dot = 0.0
    norm_a = 0.0
    norm_b = 0.0
    for k in range(0, N, BLOCK):
        offs = k + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + offs, mask=offs < N, other=0.0)
        b = tl.load(b_ptr + offs, mask=offs < N, other=0.0)
        dot += tl.sum(a * b)
        norm_a += tl.sum(a * a)
        norm_b += tl.sum(b * b)
    denom = tl.maximum(tl.sqrt(norm_a) * tl.sqrt(norm_b), eps)
    tl.store(out_ptr + pid, dot / denom)


def cosine_similarity(a, b, eps=1e-8):
    M, N = a.shape
    out = torch.empty(M, device=a.device, dtype=a.dtype)
    grid = (M,)
    cosine_similarity_kernel[grid](a, b, out, a.stride(0), b.stride(0), N, eps, BLOCK=64)
    return out
