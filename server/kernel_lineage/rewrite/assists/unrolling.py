"""Asking the compiler to unroll a loop: how often, so that a thread waits for several loads at once, and where."""

from __future__ import annotations

from tree_sitter import Node

from kernel_lineage.code.types import dtype_bytes
from kernel_lineage.kernels.cuda_forms import contains, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import begins_line, data_of, indent_at, insert_before, newline_of
from kernel_lineage.rewrite.assists.template_types import dtypes_meant, pointee_of
from kernel_lineage.rewrite.candidate import Edit

_UNDER_WAY = 32
"""Bytes that a thread loads before it waits."""
_MOST_ROUNDS = 16


def rounds_under_way(kernel: Kernel, syntax: CudaSyntax, loop: Node) -> int:
    """Rounds of a loop whose loads are under way together; at least 1."""
    loaded = 0
    for access in indexing(syntax.entry).accesses:
        sizes = map(dtype_bytes, dtypes_meant(kernel, pointee_of(kernel.parameter(access.root))))
        loaded += max(sizes, default=0) if contains(loop, access.node) else 0
    return max(1, min(_UNDER_WAY // max(loaded, 1), _MOST_ROUNDS))


def asks_to_unroll(statement: Node | None) -> bool:
    """Whether a node is a `#pragma unroll`."""
    return statement is not None and statement.type == "preproc_call" and "unroll" in text_of(statement)


def stands_alone(kernel: Kernel, loop: Node) -> bool:
    """Whether a loop is a statement of a block on a line of its own, so that a pragma can stand above it."""
    outer = loop.parent
    in_block = outer is not None and outer.type == "compound_statement"
    return in_block and begins_line(data_of(kernel), loop.start_byte)


def unrolled(kernel: Kernel, loop: Node, rounds: int) -> Edit:
    """The pragma above a loop that stands alone."""
    data, at = data_of(kernel), loop.start_byte
    return insert_before(kernel, at, f"#pragma unroll {rounds}{newline_of(data)}{indent_at(data, at)}")
