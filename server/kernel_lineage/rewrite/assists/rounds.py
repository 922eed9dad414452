"""How often a loop is unrolled, so that a thread waits for several loads at once."""

from __future__ import annotations

from tree_sitter import Node

from kernel_lineage.code.types import dtype_bytes
from kernel_lineage.kernels.cuda_forms import contains
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel

_UNDER_WAY = 32
"""Bytes that a thread loads before it waits."""
_MOST_ROUNDS = 16


def rounds_under_way(kernel: Kernel, syntax: CudaSyntax, loop: Node) -> int:
    """Rounds of a loop whose loads are under way together; at least 1."""
    loaded = 0
    for access in indexing(syntax.entry).accesses:
        parameter = kernel.parameter(access.root)
        if contains(loop, access.node) and parameter is not None and parameter.dtype is not None:
            loaded += dtype_bytes(parameter.dtype)
    return max(1, min(_UNDER_WAY // max(loaded, 1), _MOST_ROUNDS))
