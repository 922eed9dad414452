"""Kernels of llm.c around attention and the classifier: softmax backward, permutations, triangular products."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .llmc_case import (
    HEADS,
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

_SIZE = C // HEADS
_SCALE = np.float32(1 / np.sqrt(_SIZE))
_BELOW = np.tril(np.ones((T, T), bool))
_SHAPE = {"B": int32(B), "N": int32(T), "NH": int32(HEADS), "d": int32(_SIZE)}


def softmax_backward() -> Iterator[KernelCase]:
    """Through the causal softmax of attention."""
    file = "attention_backward.cu"
    att = softmax(np.where(_BELOW, floats(B, HEADS, T, T) * 2, -np.inf)).astype(np.float32)
    arguments = {
        "dpreatt": hole(B, HEADS, T, T),
        "datt": floats(B, T, HEADS, T).transpose(0, 2, 1, 3).copy(),
        "att": att,
    }
    sizes = {"B": int32(B), "T": int32(T), "C": int32(C)}
    heads, scale = {"NH": int32(HEADS)}, {"scale": _SCALE}

    def gradient(a: Arrays) -> Arrays:
        inner = (a["att"] * a["datt"]).sum(-1, keepdims=True)
        return {"dpreatt": a["att"] * (a["datt"] - inner) * _SIZE**-0.5}

    for number, columns, block, template, last in (
        (1, 1, 32, (), heads),
        (2, 1, 32, (), heads),
        (3, T, 32, (), heads),
        (4, 4, 32, (), heads),
        (5, 4, 32, (), heads),
        (6, T, 32, ("32",), heads),
        (7, T, 64, ("64",), scale),
        (8, T // 4, 64, ("64",), scale),
    ):
        yield KernelCase(
            file, f"softmax_autoregressive_backward_kernel{number}", {**arguments, **sizes, **last},
            (columns, B * HEADS), (block,), gradient, template_arguments=template, zeroed=True,
        )  # fmt: skip
    gradients = {f"d{n}": floats(B + i, HEADS, T, _SIZE)[:B].copy() for i, n in enumerate("qkv")}
    yield KernelCase(
        file, "permute_kernel_backward", {"dinp": hole(B, T, 3, HEADS, _SIZE), **gradients, **_SHAPE},
        blocks(B * T * C, 256), (256,),
        lambda a: {"dinp": np.stack([a[n].transpose(0, 2, 1, 3) for n in ("dq", "dk", "dv")], axis=2)}, zeroed=True,
    )  # fmt: skip
    yield KernelCase(
        file, "unpermute_kernel_backward",
        {"dinp": hole(B, HEADS, T, _SIZE), "dout": floats(B, T, HEADS, _SIZE), **_SHAPE},
        blocks(B * T * C, 256), (256,), lambda a: {"dinp": a["dout"].transpose(0, 2, 1, 3)}, zeroed=True,
    )  # fmt: skip


def attention_extras() -> Iterator[KernelCase]:
    """The rest of `attention_forward`, bf16 variants included, and `trimat_forward`."""
    file = "attention_forward.cu"
    preatt, total = floats(B, HEADS, T, T) * 2, B * HEADS * T * T

    def causal(a: Arrays) -> Arrays:
        return {"out": softmax(np.where(_BELOW, a["inp"] * 0.125, -np.inf))}

    yield KernelCase(
        file, "scale_kernel",
        {"inp": preatt, "scale": _SCALE, "B": int32(B), "NH": int32(HEADS), "T": int32(T)},
        blocks(total, 256), (256,), lambda a: {"inp": np.where(_BELOW, a["inp"] * a["scale"], -np.inf)},
    )  # fmt: skip
    yield KernelCase(
        file, "softmax_forward_kernel4",
        {"out": hole(N, V), "inp": floats(N, V) * 3, "N": int32(N), "C": int32(V)}, (N,), (128,),
        lambda a: {"out": softmax(a["inp"])}, 128,
    )  # fmt: skip
    yield KernelCase(
        file, "softmax_forward_kernel5_lowp",
        {"out": hole(B, HEADS, T, T), "scale": np.float32(0.125), "inp": preatt, "N": int32(B * HEADS), "T": int32(T)},
        blocks(B * HEADS * T * 32, 256), (256,), causal, low_precision=frozenset(("out", "inp")), zeroed=True,
    )  # fmt: skip
    yield KernelCase(
        file, "permute_kernel_lowp",
        {**{n: hole(B, HEADS, T, _SIZE) for n in "qkv"}, "inp": floats(B, T, 3, HEADS, _SIZE), **_SHAPE},
        blocks(B * T * C, 256), (256,),
        lambda a: {n: a["inp"][:, :, i].transpose(0, 2, 1, 3) for i, n in enumerate("qkv")},
        low_precision=frozenset("qkv"),
    )  # fmt: skip
    yield KernelCase(
        file, "unpermute_kernel_lowp",
        {"inp": floats(B, HEADS, T, _SIZE), "out": hole(B, T, HEADS, _SIZE), **_SHAPE},
        blocks(B * T * C, 256), (256,), lambda a: {"out": a["inp"].transpose(0, 2, 1, 3)},
        low_precision=frozenset(("inp",)),
    )  # fmt: skip
    length = 128
    qkv = floats(1, length, 3, HEADS, _SIZE)

    def lower_scores(a: Arrays) -> Arrays:
        q, k = a["inp"][:, :, 0], a["inp"][:, :, 1]
        scores = np.einsum("bthi,bshi->bhts", q, k) / np.sqrt(_SIZE)
        return {"out": np.where(a["keep"], scores, 0)}

    keep = np.tril(np.ones((length, length), bool))
    for name in ("matmul_tri_naive", "matmul_tri_registers", "matmul_tri3", "matmul_tri4"):
        yield KernelCase(
            "trimat_forward.cu", "trimul_global",
            {"out": hole(1, HEADS, length, length), "inp": qkv, "T": int32(length), "C": int32(C), "NH": int32(HEADS)},
            (1, 1, HEADS), (16, 16), lambda a: lower_scores({**a, "keep": keep}),
            template_arguments=(name,), zeroed=True, compared=keep,
        )  # fmt: skip


def classifier() -> Iterator[KernelCase]:
    """`classifier_fused`: loss and gradient of the logits in one pass."""
    logits, targets = floats(B, T, V) * 3, ints(V, B, T)
    arguments = {"dlogits": hole(B, T, V), "losses": hole(B, T)}
    inputs = {"logits": logits, "dlosses": floats(B, T), "targets": targets}
    sizes = {"B": int32(B), "T": int32(T), "V": int32(V), "P": int32(V)}

    def reference(a: Arrays) -> Arrays:
        probabilities, chosen = softmax(a["logits"]), a["targets"][..., None].astype(int)
        indicator = np.arange(V) == chosen
        outputs = {
            "dlogits": (probabilities - indicator) * a["dlosses"][..., None],
            "losses": -np.log(np.take_along_axis(probabilities, chosen, 2)[..., 0]),
        }
        return outputs | ({"probs": probabilities} if "probs" in a else {})

    for number, grid, block in (
        (1, B * T * 32 // 128, 128),
        (2, B * T, 128),
        (3, B * T, 128),
        (4, B * T, 128),
    ):
        outputs = {**arguments, **({"probs": hole(B, T, V)} if number > 1 else {})}
        yield KernelCase(
            "classifier_fused.cu", f"fused_classifier_kernel{number}", {**outputs, **inputs, **sizes},
            (grid,), (block,), reference,
        )  # fmt: skip


def biases_and_residuals() -> Iterator[KernelCase]:
    """What is left of the bias gradients, sums and fused residuals."""
    dout = floats(B, T, C)
    sizes = {"B": int32(B), "T": int32(T), "OC": int32(C)}
    for name, grid, block, shared in (("naive", 4, 64, 0), ("faster", C, 64, 256)):
        yield KernelCase(
            "matmul_backward.cu", f"matmul_backward_bias_kernel_{name}", {"dbias": hole(C), "dout": dout, **sizes},
            (grid,), (block,), lambda a: {"dbias": a["dout"].sum((0, 1))}, shared, zeroed=True,
        )  # fmt: skip
    yield KernelCase(
        "matmul_forward.cu", "add_bias", {"out": floats(B, T, C), "bias": floats(C), **sizes}, (8,), (128,),
        lambda a: {"out": a["out"] + a["bias"]},
    )  # fmt: skip
    low = frozenset(("dst",))
    yield KernelCase(
        "matmul_backward_bias.cu", "cast_and_add_kernel",
        {"dst": floats(C), "src": floats(C, 1).ravel(), "n": np.uint64(C)}, blocks(C, 64), (64,),
        lambda a: {"dst": a["dst"] + a["src"]}, low_precision=low,
    )  # fmt: skip
    yield KernelCase(
        "matmul_backward_bias.cu", "reduce_add_sum_kernel",
        {"dst": floats(C), "src": floats(5, C), "n": np.uint64(C), "m": np.uint64(5)}, blocks(C // 4, 64), (64,),
        lambda a: {"dst": a["dst"] + a["src"].sum(0)}, low_precision=low,
    )  # fmt: skip
    x = floats(N, C)
    weights = {"weight": floats(C), "bias": floats(C)}
    names = ("out", "mean", "rstd", "inp", "weight", "bias")
    yield KernelCase(
        "fused_residual_forward.cu", "layernorm_forward_kernel1",
        {"out": hole(N, C), "mean": hole(N), "rstd": hole(N), "inp": x, **weights, "N": int32(N), "C": int32(C)},
        blocks(N, 32), (32,), layernorm, low_precision=frozenset(names),
    )  # fmt: skip
    outputs = {"residual": hole(N, C), "normed": hole(N, C), "mean": hole(N), "rstd": hole(N)}
    inputs = {"inp1": x, "inp2": floats(C, N).T.copy(), **weights}

    def fused(a: Arrays) -> Arrays:
        residual = a["inp1"] + a["inp2"]
        outputs = layernorm({**a, "inp": residual})
        return {
            "residual": residual,
            "normed": outputs["out"],
            "mean": outputs["mean"],
            "rstd": outputs["rstd"],
        }

    for name, grid, block, shared in (
        ("fused_residual_forward2", blocks(N, 32), (32,), 0),
        ("fused_residual_forward_kernel6", (8,), (32, 1, 4), (2 + 4) * C * 2 + 64 * 4 * 4),
    ):
        yield KernelCase(
            "fused_residual_forward.cu", name, {**outputs, **inputs, "N": int32(N), "C": int32(C)}, grid, block, fused,
            shared, low_precision=frozenset((*outputs, *inputs)),
        )  # fmt: skip
