"""Kernels of llm.c that work on rows and elements: normalisation, softmax, activations, losses, optimiser."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .llmc_case import (
    Arrays,
    B,
    C,
    KernelCase,
    N,
    T,
    V,
    blocks,
    floats,
    hole,
    int32,
    ints,
    layernorm,
    softmax,
)


def layernorm_forward() -> Iterator[KernelCase]:
    """`layernorm_forward` kernels."""
    names = {"out": hole(N, C), "mean": hole(N), "rstd": hole(N)}
    inputs = {"inp": floats(N, C), "weight": floats(C), "bias": floats(C)}
    arguments = {**names, **inputs, "N": int32(N), "C": int32(C)}
    file = "layernorm_forward.cu"
    for kernel, grid, block, shared in (
        ("layernorm_forward_kernel1", blocks(N, 32), (32,), 0),
        ("layernorm_forward_kernel3", blocks(N * 32, 128), (128,), 0),
        ("layernorm_forward_kernel4", blocks(N * 32, 128), (128,), 0),
        ("layernorm_forward_kernel5", (N,), (128,), 0),
        ("layernorm_forward_kernel6", blocks(N, 4), (32, 4), (2 + 4) * C * 4),
    ):
        yield KernelCase(file, kernel, arguments, grid, block, layernorm, shared)
    x = inputs["inp"]
    mean, rstd = x.mean(1), (1 / np.sqrt(x.var(1) + 1e-5)).astype(np.float32)
    sizes = {"N": int32(N), "C": int32(C), "block_size": int32(128)}
    yield KernelCase(
        file, "mean_kernel", {"mean": hole(N), "inp": x, **sizes}, (N,), (128,),
        lambda a: {"mean": a["inp"].mean(1)}, 512,
    )  # fmt: skip
    yield KernelCase(
        file, "rstd_kernel", {"rstd": hole(N), "inp": x, "mean": mean, **sizes}, (N,), (128,),
        lambda a: {"rstd": 1 / np.sqrt(((a["inp"] - a["mean"][:, None]) ** 2).mean(1) + 1e-5)}, 512,
    )  # fmt: skip
    yield KernelCase(
        file, "normalization_kernel",
        {"out": hole(N, C), "inp": x, "mean": mean, "rstd": rstd, "weight": inputs["weight"], "bias": inputs["bias"],
         "B": int32(2), "T": int32(N // 2), "C": int32(C)},
        blocks(N * C, 256), (256,),
        lambda a: {"out": (a["inp"] - a["mean"][:, None]) * a["rstd"][:, None] * a["weight"] + a["bias"]},
    )  # fmt: skip


def softmax_forward() -> Iterator[KernelCase]:
    """`softmax_forward` kernels."""
    arguments = {"out": hole(N, V), "inp": floats(N, V) * 3, "N": int32(N), "C": int32(V)}
    for kernel, grid, block, shared in (
        ("softmax_forward_kernel1", blocks(N, 32), 32, 0),
        ("softmax_forward_kernel2", (N,), 128, 512),
        ("softmax_forward_kernel3", (N,), 32, 128),
        ("softmax_forward_kernel4", (N,), 128, 16),
        ("softmax_forward_online_kernel1", blocks(N, 32), 32, 0),
        ("softmax_forward_online_kernel2", blocks(N * 32, 128), 128, 0),
        ("softmax_forward_kernel7", (N,), 128, 32),
        ("softmax_forward_online_kernel8", blocks(N * 32, 128), 128, 0),
    ):
        yield KernelCase(
            "softmax_forward.cu",
            kernel,
            arguments,
            grid,
            (block,),
            lambda a: {"out": softmax(a["inp"])},
            shared,
        )


_GELU = np.sqrt(2 / np.pi)


def gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(_GELU * (x + 0.044715 * x**3)))


def gelu_gradient(a: Arrays) -> Arrays:
    x = a["inp"]
    t = np.tanh(_GELU * (x + 0.044715 * x**3))
    local = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * _GELU * (1 + 3 * 0.044715 * x**2)
    return {"dinp": local * a["dout"]}


def elementwise() -> Iterator[KernelCase]:
    """`elementwise` kernels."""
    n = 4096
    x, y, size = floats(n), floats(n)[::-1].copy(), {"N": int32(n)}
    for number, each in ((1, 1), (2, 8)):
        grid = blocks(n // each, 128)
        yield KernelCase(
            "gelu_forward.cu", f"gelu_forward_kernel{number}", {"out": hole(n), "inp": x, **size}, grid, (128,),
            lambda a: {"out": gelu(a["inp"])}, low_precision=frozenset(("out", "inp")),
        )  # fmt: skip
        yield KernelCase(
            "gelu_backward.cu", f"gelu_backward{number}", {"dinp": hole(n), "inp": x, "dout": y, **size}, grid, (128,),
            gelu_gradient, low_precision=frozenset(("dinp", "inp", "dout")),
        )  # fmt: skip
        yield KernelCase(
            "residual_forward.cu", f"residual_forward_kernel{number}",
            {"out": hole(n), "inp1": x, "inp2": y, **size}, grid, (128,),
            lambda a: {"out": a["inp1"] + a["inp2"]}, low_precision=frozenset(("out", "inp1", "inp2")),
        )  # fmt: skip
        yield KernelCase(
            "adamw.cu", f"adamw_kernel{number}",
            {"params": x, "grads": y, "m": floats(n, 1).ravel(), "v": np.abs(floats(n, 2)[:, 0]).copy(),
             "count": np.int64(n), "lr": np.float32(1e-3), "beta1": np.float32(0.9), "beta2": np.float32(0.99),
             "c1": np.float32(0.1), "c2": np.float32(0.01), "eps": np.float32(1e-8), "decay": np.float32(0.01)},
            blocks(n, 128), (128,), adamw,
        )  # fmt: skip
    shape = (4, 6, 5, 8)
    yield KernelCase(
        "permute.cu", "permute_kernel",
        {"inp": floats(*shape), "out": hole(8, 5, 4, 6), **{f"d{i}": int32(s) for i, s in enumerate(shape)}},
        blocks(960, 256), (256,), lambda a: {"out": a["inp"].transpose(3, 2, 0, 1)},
    )  # fmt: skip


def adamw(a: Arrays) -> Arrays:
    m = a["beta1"] * a["m"] + (1 - a["beta1"]) * a["grads"]
    v = a["beta2"] * a["v"] + (1 - a["beta2"]) * a["grads"] ** 2
    step = m / a["c1"] / (np.sqrt(v / a["c2"]) + a["eps"]) + a["decay"] * a["params"]
    return {"m": m, "v": v, "params": a["params"] - a["lr"] * step}


def cross_entropy() -> Iterator[KernelCase]:
    """`cross_entropy` kernels."""
    probabilities, targets = softmax(floats(B, T, V)).astype(np.float32), ints(V, B, T)
    sizes = {"B": int32(B), "T": int32(T), "V": int32(V)}

    def losses(a: Arrays) -> Arrays:
        return {
            "losses": -np.log(np.take_along_axis(a["probs"], a["targets"][..., None].astype(int), 2)[..., 0])
        }

    def gradient(a: Arrays) -> Arrays:
        indicator = np.arange(V) == a["targets"][..., None]
        return {"dlogits": (a["probs"] - indicator) * a["dlosses"][..., None]}

    yield KernelCase(
        "crossentropy_forward.cu", "crossentropy_forward_kernel1",
        {"losses": hole(B, T), "probs": probabilities, "targets": targets, **sizes}, blocks(B * T, 32), (32,), losses,
    )  # fmt: skip
    yield KernelCase(
        "crossentropy_softmax_backward.cu", "crossentropy_softmax_backward_kernel1",
        {"dlogits": hole(B, T, V), "dlosses": floats(B, T), "probs": probabilities, "targets": targets, **sizes},
        blocks(B * T * V, 256), (256,), gradient, zeroed=True,
    )  # fmt: skip


def norms() -> Iterator[KernelCase]:
    """`norms` kernels."""
    data = floats(10_000)
    for number in (1, 2, 3):
        yield KernelCase(
            "global_norm.cu", f"norm_kernel{number}", {"out": hole(1), "data": data, "count": np.uint64(10_000)},
            (8,), (256,), lambda a: {"out": np.array([(a["data"] ** 2).sum()])}, template_arguments=("float",),
            zeroed=True,
        )  # fmt: skip


def fused_residual() -> Iterator[KernelCase]:
    """`fused_residual` kernels."""
    outputs = {"residual": hole(N, C), "normed": hole(N, C), "mean": hole(N), "rstd": hole(N)}
    inputs = {"inp1": floats(N, C), "inp2": floats(C, N).T.copy(), "weight": floats(C), "bias": floats(C)}
    everything = frozenset((*outputs, *inputs))

    def fused(a: Arrays) -> Arrays:
        residual = a["inp1"] + a["inp2"]
        outputs = layernorm({**a, "inp": residual})
        return {
            "residual": residual,
            "normed": outputs["out"],
            "mean": outputs["mean"],
            "rstd": outputs["rstd"],
        }

    for kernel, grid, block, shared in (
        ("fused_residual_forward3", blocks(N, 4), (32, 4), 0),
        ("fused_residual_forward_kernel4", blocks(N, 4), (32, 4), 0),
        ("fused_residual_forward_kernel5", blocks(N, 4), (32, 4), (2 + 4) * C * 2),
    ):
        yield KernelCase(
            "fused_residual_forward.cu", kernel, {**outputs, **inputs, "N": int32(N), "C": int32(C)}, grid, block,
            fused, shared, low_precision=everything,
        )  # fmt: skip


def layernorm_backward() -> Iterator[KernelCase]:
    """`layernorm_backward` kernels."""
    x, dout, weight = floats(B, T, C), floats(T, B, C).transpose(1, 0, 2).copy(), floats(C)
    mean, rstd = x.mean(2), (1 / np.sqrt(x.var(2) + 1e-5)).astype(np.float32)
    outputs = {"dinp": hole(B, T, C), "dweight": hole(C), "dbias": hole(C)}
    inputs = {"dout": dout, "inp": x, "weight": weight, "mean": mean, "rstd": rstd}
    sizes = {"B": int32(B), "T": int32(T), "C": int32(C)}

    def gradient(a: Arrays) -> Arrays:
        norm = (a["inp"] - a["mean"][..., None]) * a["rstd"][..., None]
        local = a["weight"] * a["dout"]
        dinp = local - local.mean(2, keepdims=True) - norm * (local * norm).mean(2, keepdims=True)
        return {
            "dinp": dinp * a["rstd"][..., None], "dweight": (a["dout"] * norm).sum((0, 1)),
            "dbias": a["dout"].sum((0, 1)),
        }  # fmt: skip

    file = "layernorm_backward.cu"
    yield KernelCase(
        file,
        "layernorm_backward_kernel1",
        {**outputs, **inputs, **sizes},
        blocks(B * T, 64),
        (64,),
        gradient,
        zeroed=True,
    )
    four = ("float",) * 4
    yield KernelCase(
        file, "layernorm_backward_kernel3", {**outputs, **inputs, **sizes}, (4,), (256,), gradient, 2 * C * 4,
        template_arguments=four, zeroed=True,
    )  # fmt: skip
    for number, rows in ((5, 4), (6, 1)):
        # Kernel 5 keeps a partial sum for each block, kernel 6 one for all; a flag stands behind them.
        scratch = {"scratch": np.zeros(2 * C * rows + 1, np.float32)}
        yield KernelCase(
            file, f"layernorm_backward_kernel{number}", {**outputs, **scratch, **inputs, **sizes}, (4,), (256,),
            gradient,
            (2 * C + 1) * 4, template_arguments=four, zeroed=True,
        )  # fmt: skip
    lowp = frozenset((*outputs, *inputs))
    yield KernelCase(
        file, "layernorm_backward_kernel7", {**outputs, **scratch, **inputs, **sizes}, (4,), (256,), gradient,
        (2 * C + 1) * 4, lowp, zeroed=True,
    )  # fmt: skip
