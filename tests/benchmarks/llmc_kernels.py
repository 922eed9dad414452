"""Kernels of llm.c's `dev/cuda` with inputs, launches and float64 references of our own."""

from __future__ import annotations

from . import llmc_attention as more
from . import llmc_rows as rows
from . import llmc_tensors as tensors
from .llmc_case import KernelCase


def cases() -> list[KernelCase]:
    """Every case."""
    families = (
        rows.layernorm_forward,
        rows.softmax_forward,
        rows.elementwise,
        rows.cross_entropy,
        rows.norms,
        rows.fused_residual,
        rows.layernorm_backward,
        tensors.encoder,
        tensors.matmul,
        tensors.attention,
        more.softmax_backward,
        more.attention_extras,
        more.classifier,
        more.biases_and_residuals,
    )
    return [case for family in families for case in family()]
