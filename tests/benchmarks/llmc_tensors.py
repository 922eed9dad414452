"""Kernels of llm.c that move or contract tensors: encoder, matrix product, fused residual, attention."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .llmc_case import HEADS, Arrays, B, C, KernelCase, T, V, blocks, floats, hole, int32, ints, softmax


def encoder() -> Iterator[KernelCase]:
    """`encoder` kernels."""
    tokens, wte, wpe = ints(V, B, T), floats(V, C), floats(T, C)
    sizes = {"B": int32(B), "T": int32(T), "C": int32(C)}
    forward = {"out": hole(B, T, C), "inp": tokens, "wte": wte, "wpe": wpe, **sizes}
    for number, count in ((1, B * T), (2, B * T * C), (3, B * T * C // 8)):
        yield KernelCase(
            "encoder_forward.cu", f"encoder_forward_kernel{number}", forward, blocks(count, 128), (128,),
            lambda a: {"out": a["wte"][a["inp"].astype(int)] + a["wpe"]},
            low_precision=frozenset(("out", "wte", "wpe")),
        )  # fmt: skip

    def gradient(a: Arrays) -> Arrays:
        dwte = np.zeros((V, C))
        np.add.at(dwte, a["inp"].astype(int), a["dout"])
        return {"dwte": dwte, "dwpe": a["dout"].sum(0)}

    backward = {"dwte": hole(V, C), "dwpe": hole(T, C), "dout": floats(B, T, C), "inp": tokens, **sizes}
    for number, count in ((1, B * T * C), (2, C)):
        yield KernelCase(
            "encoder_backward.cu", f"encoder_backward_kernel{number}", backward, blocks(count, 128), (128,), gradient,
            zeroed=True,
        )  # fmt: skip


def matmul() -> Iterator[KernelCase]:
    """`matmul` kernels."""
    x, weight, bias = floats(128, 96), floats(256, 96), floats(256)

    def product(a: Arrays) -> Arrays:
        return {"out": a["inp"] @ a["weight"].T + a["bias"]}

    tensors = {"out": hole(128, 256), "inp": x, "weight": weight, "bias": bias}
    yield KernelCase(
        "matmul_forward.cu", "matmul_forward_kernel1", {**tensors, "BT": int32(128), "C": int32(96), "OC": int32(256)},
        (8, 16), (16, 16), product,
    )  # fmt: skip
    yield KernelCase(
        "matmul_forward.cu",
        "matmul_forward_kernel4",
        {**tensors, "C": int32(96), "OC": int32(256)},
        (1, 2),
        (16, 16),
        product,
    )
    dout = floats(B, T, C)
    sizes = {"B": int32(B), "T": int32(T), "OC": int32(C)}
    for number, grid, block, shared in (
        (1, (C,), 128, 512),
        (2, blocks(C * 32, 128), 128, 0),
        (3, (C,), 128, 0),
        (4, (C // 32,), 128, 512),
    ):
        yield KernelCase(
            "matmul_backward_bias.cu", f"matmul_backward_bias_kernel{number}",
            {"dbias": hole(C), "dout": dout, **sizes}, grid, (block,), lambda a: {"dbias": a["dout"].sum((0, 1))},
            shared, low_precision=frozenset(("dbias", "dout")), zeroed=True,
        )  # fmt: skip
    yield KernelCase(
        "matmul_backward_bias.cu", "matmul_backward_bias_kernel7",
        {"dbias": hole(C), "dout": dout, **sizes, "block_size": int32(256)}, (1, 2), (32, 8),
        lambda a: {"dbias": a["dout"].sum((0, 1))}, 1024, frozenset(("dout",)), zeroed=True,
    )  # fmt: skip


def attention() -> Iterator[KernelCase]:
    """`attention` kernels."""
    size = C // HEADS
    qkv = floats(B, T, 3, HEADS, size)
    below = np.tril(np.ones((T, T), bool))
    file = "attention_forward.cu"

    def scores(a: Arrays) -> Arrays:
        q, k = a["inp"][:, :, 0], a["inp"][:, :, 1]
        products = np.einsum("bthi,bshi->bhts", q, k) / np.sqrt(size)
        return {"preatt": np.where(below, products, -np.inf)}

    def causal(a: Arrays, scale: float = 1.0) -> Arrays:
        return {"att": softmax(np.where(below, a["preatt"] * scale, -np.inf))}

    head = {"B": int32(B), "T": int32(T), "C": int32(C), "NH": int32(HEADS)}
    total = B * HEADS * T * T
    yield KernelCase(
        file, "attention_query_key_kernel1", {"preatt": hole(B, HEADS, T, T), "inp": qkv, **head},
        blocks(total, 128), (128,), scores,
    )  # fmt: skip
    preatt = floats(B, HEADS, T, T) * 2
    yield KernelCase(
        file, "attention_softmax_kernel1",
        {"att": hole(B, HEADS, T, T), "preatt": preatt, "B": int32(B), "T": int32(T), "NH": int32(HEADS)},
        blocks(B * HEADS * T, 64), (64,), causal,
    )  # fmt: skip
    yield KernelCase(
        file, "softmax_forward_kernel5",
        {"att": hole(B, HEADS, T, T), "scale": np.float32(0.125), "preatt": preatt, "N": int32(B * HEADS),
         "T": int32(T)},
        blocks(B * HEADS * T * 32, 256), (256,), lambda a: causal(a, 0.125), zeroed=True,
    )  # fmt: skip
    att = softmax(np.where(below, preatt, -np.inf)).astype(np.float32)
    yield KernelCase(
        file, "attention_value_kernel1", {"out": hole(B, T, HEADS, size), "att": att, "inp": qkv, **head},
        blocks(B * T * HEADS, 64), (64,),
        lambda a: {"out": np.einsum("bhts,bshi->bthi", a["att"], a["inp"][:, :, 2])},
    )  # fmt: skip
    shape = {"B": int32(B), "N": int32(T), "NH": int32(HEADS), "d": int32(size)}
    yield KernelCase(
        file, "permute_kernel", {**{n: hole(B, HEADS, T, size) for n in "qkv"}, "inp": qkv, **shape},
        blocks(B * T * C, 256), (256,),
        lambda a: {n: a["inp"][:, :, i].transpose(0, 2, 1, 3) for i, n in enumerate("qkv")},
    )  # fmt: skip
    yield KernelCase(
        file, "unpermute_kernel", {"inp": floats(B, HEADS, T, size), "out": hole(B, T, HEADS, size), **shape},
        blocks(B * T * C, 256), (256,), lambda a: {"out": a["inp"].transpose(0, 2, 1, 3)},
    )  # fmt: skip
