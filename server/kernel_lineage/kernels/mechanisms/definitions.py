"""What a detector asks of the names in a CUDA C++ file: packs, numbers and sizes, as the reader of `code/` has them.

A repository's own packs and constants are known by what they are and not by how they are called.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tree_sitter import Node

from kernel_gate.expr.terms import Num
from kernel_lineage.code.cuda.layouts import layout_of, struct_of
from kernel_lineage.code.cuda.names import names_of
from kernel_lineage.code.cuda.read import expressions_of
from kernel_lineage.code.types import dtype_bytes, vector_of
from kernel_lineage.kernels.cuda_forms import bare, operator_of, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.source import Kernel

_ALIGNED = re.compile(r"_(?:16|32)a$")
_QUARTERS = {"fp8x2_e4m3": 2, "fp8x4_e4m3": 4}
_LIBRARY_PACKS = frozenset(
    {"AlignedArray", "AlignedVector", "aligned_vector", "CubVector", "aligned_array", "aligned_storage"}
)
"""Packs of CUTLASS, CUB, PyTorch and of the standard library: as wide as their template arguments say."""
_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Pack:
    """A type that holds several elements side by side."""

    name: str
    width: int | None
    """In bytes; None when the text does not tell."""


def pack_of(unit: Unit, written: str, depth: int = 0) -> Pack | None:
    """The pack that a type name stands for; None when it is a single element or not defined in the kernel's file."""
    at = expressions_of(unit.kernel)
    base = at.scope.names.base(written, own_types(unit)) if at is not None else ""
    head, _, arguments = base.partition("<")
    last = head.strip().rpartition("::")[2]
    plain = last.removeprefix("__").removeprefix("nv_")
    if (vector := vector_of(_ALIGNED.sub("", plain)) or vector_of(last)) is not None and vector[1] > 1:
        return Pack(last, dtype_bytes(vector[0]) * vector[1])
    if plain in _QUARTERS or last in _LIBRARY_PACKS:
        return Pack(last, _QUARTERS.get(plain))
    if at is None or depth > _DEPTH:
        return None
    definition = struct_of(at.scope, base)
    if definition is None:
        inside = arguments.rpartition(">")[2].removeprefix("::").strip() if ">" in arguments else ""
        target = at.scope.names.aliases.get(inside)
        return pack_of(unit, target, depth + 1) if target is not None else None
    struct = definition[0]
    layout = layout_of(at, base)
    width = layout.nbytes if layout is not None else None
    match struct.members:
        case [one] if one.sizes:
            return Pack(last, width) if struct.aligned or struct.aligns_members else None
        case [one]:
            inner = pack_of(unit, one.type, depth + 1)
            return Pack(last, inner.width) if inner is not None else None
        case [_, _, *_] if struct.aligned:
            return Pack(last, width)
    return None


def own_types(unit: Unit) -> dict[str, str]:
    """The types that a function gives names of its own, by these."""
    return {
        text_of(node.child_by_field_name("name") or node.child_by_field_name("declarator")): text_of(
            node.child_by_field_name("type")
        )
        for node in (*unit.of("alias_declaration"), *unit.of("type_definition"))
    }


def meanings_of(unit: Unit, name: str) -> set[str]:
    """The types that a name may stand for: the function's own, or all that the file gives it."""
    source, own = unit.kernel.source, own_types(unit).get(name)
    if own is not None or source is None:
        return {own} if own is not None else set()
    return names_of(source).meanings.get(name, set())


def number_of(unit: Unit, node: Node | None) -> int | None:
    """The value of an expression of literals and of the file's constants; None when it is not told."""
    term = indexing(unit).term(node) if node is not None else None
    at = expressions_of(unit.kernel) if term is None and node is not None else None
    if at is not None:
        term = at.integer(node).term
    return term.value if isinstance(term, Num) else None


def written_number(kernel: Kernel, text: str) -> int | None:
    """The value of an expression that stands in no tree, in a kernel's file."""
    at = expressions_of(kernel)
    node = at.scope.names.snippets.expression(text) if at is not None else None
    term = at.integer(node).term if at is not None and node is not None else None
    return term.value if isinstance(term, Num) else None


def extents(unit: Unit, sizes: tuple[Node, ...]) -> str:
    """`64×8` for the sizes of an array; "" when one of them is no number in this file."""
    return as_extents([number_of(unit, size) for size in sizes])


def as_extents(values: Sequence[int | None]) -> str:
    """`64×8` for these numbers; "" when one is not known."""
    return "" if not values or None in values else "×".join(map(str, values))


def factors(sizes: tuple[Node, ...]) -> int:
    """The number of factors of an array's size: two for `[TM * TN]` and for `[TM][TN]`, one for `[TM]`."""
    count = 0
    waiting: list[Node | None] = list(sizes)
    while waiting:
        node = bare(waiting.pop())
        if node is not None and node.type == "binary_expression" and operator_of(node) == "*":
            waiting += [node.child_by_field_name("left"), node.child_by_field_name("right")]
        else:
            count += 1
    return count
