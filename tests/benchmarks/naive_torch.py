"""The operations of the naive kernels in torch, timed with a cold L2: eager, and compiled."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

Operation = Callable[..., Any]


def _operations(torch: Any) -> dict[str, tuple[Operation, Callable[[Mapping[str, int]], tuple[Any, ...]]]]:
    """By the kernel's name: the operation, and its arguments for the timed sizes."""
    f = torch.nn.functional

    def r(*shape: int, dtype: Any = torch.float32) -> Any:
        return torch.randn(*shape, device="cuda").to(dtype)

    def bytes_(*shape: int) -> Any:
        return torch.randint(-127, 128, shape, device="cuda", dtype=torch.int8)

    def rotated_pairs(x: Any, cos: Any, sin: Any) -> Any:
        even, odd = x[..., 0::2].float(), x[..., 1::2].float()
        c, s = cos[:, None], sin[:, None]
        return torch.stack((even * c - odd * s, even * s + odd * c), -1).flatten(-2).to(x.dtype)

    half, bf16 = torch.float16, torch.bfloat16
    return {
        "add": (lambda a, b: a + b, lambda d: (r(d["n"]), r(d["n"]))),
        "triton_add": (lambda a, b: a + b, lambda d: (r(d["n"]), r(d["n"]))),
        "silu_half": (f.silu, lambda d: (r(d["n"], dtype=half),)),
        "gelu_bf16": (lambda x: f.gelu(x, approximate="tanh"), lambda d: (r(d["n"], dtype=bf16),)),
        "triton_gelu": (f.gelu, lambda d: (r(d["n"], dtype=half),)),
        "clamp_inplace": (lambda x: x.clamp_(-0.5, 0.75), lambda d: (r(d["n"]),)),
        "relu_if": (f.relu, lambda d: (r(d["n"]),)),
        "axpy_grid_stride": (lambda x, y: y.add_(x, alpha=1.5), lambda d: (r(d["n"]), r(d["n"]))),
        "swiglu_bf16": (lambda g, u: f.silu(g) * u, lambda d: (r(d["n"], dtype=bf16), r(d["n"], dtype=bf16))),
        "quantise_int8": (
            lambda x: (x * 31.75).round().clamp(-128, 127).to(torch.int8),
            lambda d: (r(d["n"]),),
        ),
        "bias_add_2d": (lambda x, b: f.relu(x + b), lambda d: (r(d["M"], d["N"]), r(d["N"]))),
        "row_sum": (lambda x: x.sum(1), lambda d: (r(d["M"], d["N"]),)),
        "row_max_half": (lambda x: x.abs().amax(1), lambda d: (r(d["M"], d["N"], dtype=half),)),
        "softmax": (lambda x: f.softmax(x, 1), lambda d: (r(d["M"], d["N"]),)),
        "triton_softmax": (lambda x: f.softmax(x, 1), lambda d: (r(d["M"], d["N"]),)),
        "layer_norm": (
            lambda x, w, b: f.layer_norm(x, x.shape[1:], w, b),
            lambda d: (r(d["M"], d["N"]), r(d["N"]), r(d["N"])),
        ),
        "rms_norm_block": (
            lambda x, w: f.rms_norm(x, x.shape[1:], w),
            lambda d: (r(d["M"], d["N"]), r(d["N"])),
        ),
        "triton_rms_norm": (
            lambda x, w: f.rms_norm(x, x.shape[1:], w),
            lambda d: (r(d["M"], d["N"], dtype=half), r(d["N"], dtype=half)),
        ),
        "cross_entropy": (
            lambda x, t: f.cross_entropy(x, t, reduction="none"),
            lambda d: (r(d["T"], d["V"]), torch.randint(0, d["V"], (d["T"],), device="cuda")),
        ),
        "top1_row": (lambda x: x.argmax(1), lambda d: (r(d["M"], d["N"]),)),
        "column_sum": (lambda x: x.sum(0), lambda d: (r(d["M"], d["N"]),)),
        "triton_column_sum": (lambda x: x.sum(0), lambda d: (r(d["M"], d["N"]),)),
        "bias_gradient": (
            lambda x: x.sum(0, dtype=torch.float32),
            lambda d: (r(d["M"], d["N"], dtype=bf16),),
        ),
        "sum_atomic": (lambda x: x.sum(), lambda d: (r(d["n"]),)),
        "dot_atomic": (torch.dot, lambda d: (r(d["n"]), r(d["n"]))),
        "scan_rows": (lambda x: x.cumsum(1), lambda d: (r(d["M"], d["N"]),)),
        "w8_group": (
            lambda x, w, s: x @ (w.float().unflatten(0, (-1, 32)) * s[:, None]).flatten(0, 1),
            lambda d: (r(d["M"], d["K"]), bytes_(d["K"], d["N"]), r(d["K"] // 32, d["N"])),
        ),
        "w8_half_row": (
            lambda x, w, s, b: f.linear(x, w.to(half)) * s + b,
            lambda d: (
                r(d["M"], d["K"], dtype=half),
                bytes_(d["N"], d["K"]),
                r(d["N"], dtype=half),
                r(d["N"], dtype=half),
            ),
        ),
        "w8_zero": (
            lambda x, w, s, z: x @ ((w.float() - z.float()) * s),
            lambda d: (r(d["M"], d["K"]), bytes_(d["K"], d["N"]), r(d["N"]), bytes_(d["N"])),
        ),
        "cumsum_few": (lambda x: x.cumsum(1), lambda d: (r(d["R"], d["L"], dtype=half),)),
        "exclusive_scan_rows": (
            lambda x: x.cumsum(1, dtype=torch.int32) - x,
            lambda d: (torch.randint(0, 100, (d["R"], d["N"]), device="cuda", dtype=torch.int32),),
        ),
        "argmax_block": (lambda x: x.argmax(1), lambda d: (r(d["R"], d["C"]),)),
        "top1_softmax": (
            lambda x: f.softmax(x.float(), 1).max(1),
            lambda d: (r(d["R"], d["E"], dtype=half),),
        ),
        "label_smoothing": (
            lambda x, t: f.cross_entropy(x, t, label_smoothing=0.1, ignore_index=3, reduction="none"),
            lambda d: (r(d["B"], d["K"]), torch.randint(0, d["K"], (d["B"],), device="cuda")),
        ),
        "group_norm_2d": (
            lambda x, w, b: f.group_norm(x, 4, w, b),
            lambda d: (r(d["N"], 4 * d["D"], d["HW"]), r(4 * d["D"]), r(4 * d["D"])),
        ),
        "column_var_half": (
            lambda x: x.float().var(0, unbiased=False),
            lambda d: (r(d["R"], d["C"], dtype=half),),
        ),
        "transpose": (lambda x: x.t().contiguous(), lambda d: (r(d["M"], d["N"]),)),
        "transpose_half": (lambda x: x.t().contiguous(), lambda d: (r(d["M"], d["N"], dtype=half),)),
        "embedding": (
            lambda i, w: f.embedding(i, w),
            lambda d: (torch.randint(0, d["V"], (d["M"],), device="cuda"), r(d["V"], d["N"])),
        ),
        "gather_rows": (
            lambda i, w: w[i],
            lambda d: (torch.randint(0, d["V"], (d["M"],), device="cuda"), r(d["V"], d["N"])),
        ),
        "matmul": (torch.matmul, lambda d: (r(d["M"], d["K"]), r(d["K"], d["N"]))),
        "sgemm_alpha_beta": (
            lambda a, b, c: torch.addmm(c, a, b, beta=3.0, alpha=0.5),
            lambda d: (r(d["M"], d["K"]), r(d["K"], d["N"]), r(d["M"], d["N"])),
        ),
        "matmul_half": (
            torch.matmul,
            lambda d: (r(d["M"], d["K"], dtype=half), r(d["K"], d["N"], dtype=half)),
        ),
        "triton_matmul": (
            torch.matmul,
            lambda d: (r(d["M"], d["K"], dtype=half), r(d["K"], d["N"], dtype=half)),
        ),
        "batched_matmul": (torch.bmm, lambda d: (r(d["Z"], d["M"], d["K"]), r(d["Z"], d["K"], d["N"]))),
        "gemv": (torch.mv, lambda d: (r(d["M"], d["N"]), r(d["N"]))),
        "conv2d": (
            lambda x, w: f.conv2d(x, w),
            lambda d: (r(1, 1, d["H"], d["W"]), r(1, 1, d["K"], d["K"])),
        ),
        "conv1d": (
            lambda x, w: f.conv1d(x, w, padding="same"),
            lambda d: (r(1, 1, d["n"]), r(1, 1, d["K"])),
        ),
        "instance_norm": (
            lambda x, w, b: f.instance_norm(x, weight=w, bias=b),
            lambda d: (r(d["B"], d["C"], d["H"], d["W"]), r(d["C"]), r(d["C"])),
        ),
        "group_norm": (
            lambda x, w, b: f.group_norm(x, 4, w, b),
            lambda d: (r(d["N"], d["C"], d["P"]), r(d["C"]), r(d["C"])),
        ),
        "keys_transposed": (
            lambda k: k.permute(0, 2, 3, 1).contiguous(),
            lambda d: (r(d["B"], d["T"], d["H"], d["D"], dtype=half),),
        ),
        "causal_conv1d": (
            lambda x, w, b: f.silu(f.conv1d(x, w, b, padding=3, groups=x.shape[1])[..., : x.shape[2]]),
            lambda d: (r(d["B"], d["C"], d["T"]), r(d["C"], 1, 4), r(d["C"])),
        ),
        "pairwise_distances": (torch.cdist, lambda d: (r(d["N"], d["K"]), r(d["M"], d["K"]))),
        "log_softmax_channels": (lambda x: f.log_softmax(x, 1), lambda d: (r(d["B"], d["C"], d["P"]),)),
        "triton_cosine_rows": (
            f.cosine_similarity,
            lambda d: (r(d["M"], d["N"]), r(d["M"], d["N"])),
        ),
        "triton_dequantise_add": (
            lambda q, s, x: (q.float() * s[:, None] + x.float()).clamp(-6, 6).to(half),
            lambda d: (
                torch.randint(-128, 128, (d["R"], d["C"]), device="cuda", dtype=torch.int8),
                r(d["R"]),
                r(d["R"], d["C"], dtype=half),
            ),
        ),
        "triton_feature_means": (lambda x: x.mean(0), lambda d: (r(d["R"], d["F"]),)),
        "triton_geglu_rows": (
            lambda x: _gated(*x.float().chunk(2, 1)).to(half),
            lambda d: (r(d["R"], 2 * d["D"], dtype=half),),
        ),
        "triton_leaky_scalar": (lambda x: f.leaky_relu(x, 0.01), lambda d: (r(d["n"]),)),
        "triton_matmul_elements": (
            torch.matmul,
            lambda d: (r(d["M"], d["K"], dtype=half), r(d["K"], d["N"], dtype=half)),
        ),
        "quick_gelu_half": (lambda x: x * (1.702 * x).sigmoid(), lambda d: (r(d["n"], dtype=half),)),
        "channels_first_bytes": (
            lambda x, m, s: (x.float() / 255 - m).mul(s).permute(0, 3, 1, 2).contiguous(),
            lambda d: (
                torch.randint(0, 256, (d["B"], d["Y"], d["X"], d["C"]), device="cuda", dtype=torch.uint8),
                r(d["C"]),
                r(d["C"]),
            ),
        ),
        "conv1d_channels": (
            lambda x, w, b: f.relu(f.conv1d(x, w, b)),
            lambda d: (r(d["N"], d["I"], d["L"]), r(d["O"], d["I"], 5), r(d["O"])),
        ),
        "softmax_middle": (lambda x: f.softmax(x, 1), lambda d: (r(d["A"], d["D"], d["B"]),)),
        "bmm_helper": (
            lambda a, b: torch.bmm(a, b.transpose(1, 2)) * 0.125,
            lambda d: (r(d["Z"], d["M"], d["K"]), r(d["Z"], d["N"], d["K"])),
        ),
        "heads_permuted_bf16": (
            lambda x: [p.contiguous() for p in x.permute(2, 0, 3, 1, 4)],
            lambda d: (r(d["B"], d["T"], 3, d["H"], d["D"], dtype=bf16),),
        ),
        "max_pool_overlap": (
            lambda x: f.max_pool2d(x, 3, 2, 1),
            lambda d: (r(d["N"], d["C"], d["Y"], d["X"]),),
        ),
        "adam_mixed": (
            _adam_step,
            lambda d: (r(d["n"]), r(d["n"], dtype=half), r(d["n"], dtype=half), r(d["n"]), r(d["n"]).abs()),
        ),
        "quantise_rows_y": (_quantised, lambda d: (r(d["M"], d["N"], dtype=half),)),
        "byte_histogram": (
            lambda x: torch.bincount(x, minlength=256),
            lambda d: (torch.randint(0, 256, (d["n"],), device="cuda", dtype=torch.uint8),),
        ),
        "scores_causal_bf16": (
            lambda q, k: (
                (q @ k.transpose(1, 2))
                .float()
                .mul(q.shape[2] ** -0.5)
                .masked_fill(
                    torch.ones(q.shape[1], q.shape[1], device="cuda", dtype=torch.bool).triu(1), -math.inf
                )
            ),
            lambda d: (r(d["Z"], d["T"], d["D"], dtype=bf16), r(d["Z"], d["T"], d["D"], dtype=bf16)),
        ),
        "smooth_l1_rows": (
            lambda p, t: f.smooth_l1_loss(p, t, reduction="none", beta=0.5).mean(1),
            lambda d: (r(d["M"], d["N"]), r(d["M"], d["N"])),
        ),
        "triton_bias_tanh_elements": (
            lambda x, b: torch.tanh(x + b),
            lambda d: (r(d["M"], d["N"]), r(d["N"])),
        ),
        "triton_row_sums_scalar": (lambda x: x.sum(1), lambda d: (r(d["M"], d["N"]),)),
        "triton_column_max_scalar": (
            lambda x: x.abs().amax(0).float(),
            lambda d: (r(d["M"], d["N"], dtype=half),),
        ),
        "triton_linear_elements": (
            f.linear,
            lambda d: (r(d["M"], d["K"]), r(d["O"], d["K"]), r(d["O"])),
        ),
        "triton_softmax_amp_masks": (
            lambda x: f.softmax(0.125 * x.float(), 1).to(bf16),
            lambda d: (r(d["M"], d["N"], dtype=bf16),),
        ),
        "triton_depthwise_conv1d": (
            lambda x, w: sum(f.pad(x, (0, 0, 3 - k, 0))[:, : x.shape[1]].float() * w[k] for k in range(4)).to(
                half
            ),
            lambda d: (r(d["B"], d["T"], d["C"], dtype=half), r(4, d["C"])),
        ),
        "triton_transpose_elements": (
            lambda x: x.t().contiguous(),
            lambda d: (r(d["M"], d["N"], dtype=half),),
        ),
        "triton_matvec_program": (torch.mv, lambda d: (r(d["M"], d["N"]), r(d["N"]))),
        "triton_group_quantise": (_quantised, lambda d: (r(d["G"], 64, dtype=half),)),
        "triton_embedding_tokens": (
            lambda i, w, p: f.embedding(i, w) + p,
            lambda d: (
                torch.randint(0, d["V"], (d["B"], d["T"]), device="cuda"),
                r(d["V"], 128),
                r(d["T"], 128),
            ),
        ),
        "triton_bce_mean": (
            lambda z, t: f.binary_cross_entropy_with_logits(z, t, reduction="none").mean(1),
            lambda d: (r(d["M"], d["N"]), r(d["M"], d["N"]).sigmoid()),
        ),
        "triton_pool_windows": (
            lambda x: f.avg_pool1d(x[None], 4)[0],
            lambda d: (r(d["R"], 4 * d["P"]),),
        ),
        "triton_gate_columns": (f.glu, lambda d: (r(d["M"], 2 * d["N"]),)),
        "triton_rotary_pairs": (
            rotated_pairs,
            lambda d: (
                r(d["T"], d["H"], 2 * d["P"], dtype=half),
                r(d["T"], d["P"]),
                r(d["T"], d["P"]),
            ),
        ),
        "triton_outer_rows": (
            lambda u, v: u[:, :, None] * v[:, None, :],
            lambda d: (r(d["B"], d["M"]), r(d["B"], d["N"])),
        ),
        "triton_divergence_rows": (
            lambda p, q: (p * (p.log() - q.log())).sum(1),
            lambda d: (r(d["M"], d["N"]).sigmoid(), r(d["M"], d["N"]).sigmoid()),
        ),
        "triton_bmm_outputs": (
            lambda a, b: torch.bmm(a, b).float(),
            lambda d: (
                r(d["B"], d["M"], d["K"], dtype=half),
                r(d["B"], d["K"], d["N"], dtype=half),
            ),
        ),
        "gated_residual_half": (
            lambda x, h, gate: (x.float() + gate * h.float()).half(),
            lambda d: (r(d["R"], d["C"], dtype=half), r(d["R"], d["C"], dtype=half), r(d["C"])),
        ),
        "masked_scores_bf16": (
            lambda s, keep: torch.where(keep, s * 0.125, -10000.0),
            lambda d: (r(d["M"], d["N"], dtype=bf16), r(d["M"], d["N"]) > 0),
        ),
        "logsumexp_rows": (lambda x: torch.logsumexp(x, 1), lambda d: (r(d["M"], d["N"]),)),
        "batch_norm_features": (
            lambda x, w, b: f.batch_norm(x, None, None, w, b, training=True),
            lambda d: (r(d["N"], d["C"]), r(d["C"]), r(d["C"])),
        ),
        "batched_matvec": (
            lambda a, x: torch.bmm(a, x[:, :, None])[:, :, 0],
            lambda d: (r(d["B"], d["M"], d["K"]), r(d["B"], d["K"])),
        ),
        "bmm_flat": (torch.bmm, lambda d: (r(d["B"], d["M"], d["K"]), r(d["B"], d["K"], d["N"]))),
        "triton_bmm_grid": (torch.bmm, lambda d: (r(d["B"], d["M"], d["K"]), r(d["B"], d["K"], d["N"]))),
        "triton_bmm_numbered": (
            lambda a, b: torch.bmm(a, b).float(),
            lambda d: (r(d["B"], d["M"], d["K"], dtype=half), r(d["B"], d["K"], d["N"], dtype=half)),
        ),
        "column_max_serial": (lambda x: x.amax(0), lambda d: (r(d["M"], d["N"]),)),
        "column_mean_block": (lambda x: x.mean(0), lambda d: (r(d["M"], d["N"]),)),
        "column_slice_half": (
            lambda x: x[:, 1024:3072] * 0.5,
            lambda d: (r(d["M"], d["N"], dtype=half),),
        ),
        "group_norm_block": (
            lambda x, w, b: f.silu(f.group_norm(x, 32, w, b)),
            lambda d: (r(d["N"], d["G"] * d["P"], d["S"]), r(d["G"] * d["P"]), r(d["G"] * d["P"])),
        ),
        "triton_group_norm": (
            lambda x, w, b: f.group_norm(x, 32, w, b),
            lambda d: (r(d["N"], d["G"] * d["P"], d["S"]), r(d["G"] * d["P"]), r(d["G"] * d["P"])),
        ),
        "huber_mean_atomic": (f.huber_loss, lambda d: (r(d["N"]), r(d["N"]))),
        "triton_huber_atomic": (f.huber_loss, lambda d: (r(d["N"]), r(d["N"]))),
        "huber_rows_template": (
            lambda x, t: f.huber_loss(x, t, reduction="none").sum(1),
            lambda d: (r(d["M"], d["N"]), r(d["M"], d["N"])),
        ),
        "l1_rows_half": (
            lambda x: f.normalize(x, 1.0, 1),
            lambda d: (r(d["M"], d["N"], dtype=half),),
        ),
        "linear_flat_half": (
            lambda x, w, b: f.relu(f.linear(x, w, b)),
            lambda d: (
                r(d["M"], d["K"], dtype=half),
                r(d["N"], d["K"], dtype=half),
                r(d["N"], dtype=half),
            ),
        ),
        "matmul_flat": (torch.mm, lambda d: (r(d["M"], d["K"]), r(d["K"], d["N"]))),
        "permute_201": (
            lambda x: x.permute(2, 0, 1).contiguous(),
            lambda d: (r(d["A"], d["B"], d["C"]),),
        ),
        "pointwise_flat": (
            lambda x, w, b: f.conv1d(x, w[:, :, None], b),
            lambda d: (r(d["B"], d["I"], d["P"]), r(d["O"], d["I"]), r(d["O"])),
        ),
        "triplet_margin": (
            lambda a, p, n: f.triplet_margin_loss(a, p, n, reduction="none"),
            lambda d: tuple(r(d["M"], d["N"]) for _ in range(3)),
        ),
        "triton_triplet": (
            lambda a, p, n: f.triplet_margin_loss(a, p, n, reduction="none"),
            lambda d: tuple(r(d["M"], d["N"]) for _ in range(3)),
        ),
        "triton_absmax_rows": (
            lambda x: x.abs().amax(1).float(),
            lambda d: (r(d["M"], d["N"], dtype=half),),
        ),
        "triton_avg_pool": (
            lambda x: f.avg_pool2d(x[None], 2)[0],
            lambda d: (r(d["P"], d["H"], d["W"]),),
        ),
        "triton_cumsum_rows": (lambda x: x.cumsum(1), lambda d: (r(d["M"], d["N"]),)),
        "triton_quant_rows": (_quantised, lambda d: (r(d["M"], d["N"], dtype=half),)),
        "triton_top1": (lambda x: x.max(1), lambda d: (r(d["M"], d["N"]),)),
        "conv1x1": (
            lambda x, w: f.conv1d(x, w[:, :, None]),
            lambda d: (r(d["B"], d["I"], d["P"]), r(d["O"], d["I"])),
        ),
    }


def _adam_step(master: Any, model: Any, grad: Any, m: Any, v: Any) -> None:
    """One step in place, with the kernel's numbers."""
    g = grad.float() * 0.5
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.99).addcmul_(g, g, value=0.01)
    master.sub_(0.001 * m / (v.sqrt() + 1e-6))
    model.copy_(master)


def _quantised(x: Any) -> tuple[Any, Any]:
    """Rows as int8, with a scale for each."""
    scale = x.float().abs().amax(1, keepdim=True) / 127
    return (x.float() / scale).round().char(), scale


def _gated(a: Any, b: Any) -> Any:
    """The first half gated by the second, with the sigmoid form of gelu."""
    return a * b * (1.702 * b).sigmoid()


def times(kernel: str, dims: Mapping[str, int]) -> dict[str, Any]:
    """Microseconds, eager and compiled, as `torch_us`; {} where torch, the device or the operation is missing."""
    try:
        import torch
        from triton.testing import do_bench
    except ImportError:
        return {}
    if not torch.cuda.is_available():
        return {}
    entry = _operations(torch).get(kernel)
    if entry is None:
        return {}
    operation, arguments = entry
    tensors = arguments(dims)
    measured = []
    for run in (operation, torch.compile(operation)):
        run(*tensors)
        measured.append(
            1e3 * do_bench(lambda run=run: run(*tensors), warmup=20, rep=60, return_mode="median")
        )
    return {"torch_us": measured}
