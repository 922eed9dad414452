"""Padding or swizzling a shared tile so that a warp's accesses fall into different banks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.code.cuda.names import names_of
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import bare, contains, operator_of, read_call, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.linear_forms import UNKNOWN
from kernel_lineage.kernels.mechanisms.definitions import as_extents, number_of, written_number
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import first_type, seen
from kernel_lineage.kernels.units import in_units

_PADS = ("pad", "skew")
_SHORTEST = 17
"""The shortest padded row, in elements: 16 and one more."""

_LIBRARY = re.compile(r"\b(?:cute::)?(?:Swizzle\s*<|Layout_\w+_SW\d+_Atom|SmemLayoutAtom\w*SW\d+)")
"""CuTe's swizzled layouts."""


def is_padded(unit: Unit, size: Node, depth: int = 0) -> bool:
    """Whether a row length has a pad in it: a bit more than a power of two, or something plus a pad, by any name."""
    node, length = bare(size), number_of(unit, size)
    if node is None or (length is not None and length < _SHORTEST):
        return False
    if node.type == "binary_expression" and operator_of(node) in ("+", "|"):
        right = node.child_by_field_name("right")
        pad = number_of(unit, right)
        if (0 < pad <= 16) if pad is not None else any(word in text_of(right).lower() for word in _PADS):
            return True
    if length is not None:
        return 0 < length - (1 << length.bit_length() - 1) <= 8
    names = names_of(unit.kernel.source) if unit.kernel.source is not None and depth < 4 else None
    if names is not None and node.type in ("identifier", "qualified_identifier"):
        name = text_of(node).rpartition("::")[2]
        value = unit.value_of(name, node.start_byte) or names.constants.get(name)
        return value is not None and is_padded(unit, value, depth + 1)
    bodies = names.functions.get(read_call(node).name, ()) if names and node.type == "call_expression" else ()
    return any(is_padded(unit, n, depth + 1) for body in bodies for n in _returned(body))


def extents_without_pad(unit: Unit, sizes: tuple[Node, ...]) -> str:
    """`32×32` for an array of `[32][32 + 1]`: how much it holds; "" when a size is no number in this file."""
    values = [number_of(unit, size) for size in sizes]
    if len(sizes) >= 2 and values[-1] is not None and is_padded(unit, sizes[-1]):
        row = bare(sizes[-1])
        written = row is not None and row.type == "binary_expression" and operator_of(row) == "+"
        held = number_of(unit, row.child_by_field_name("left")) if row is not None and written else None
        values[-1] = held if held is not None else 1 << values[-1].bit_length() - 1
    return as_extents(values)


def _returned(function: Node) -> Iterator[Node]:
    body = function.child_by_field_name("body")
    waiting = [
        n
        for statement in (body.named_children if body is not None else ())
        if statement.type == "return_statement"
        for n in statement.named_children
    ]
    while waiting:
        node = waiting.pop()
        yield node
        if node.type in ("conditional_expression", "parenthesized_expression"):
            waiting += node.named_children


def _pitches(unit: Unit, index: Node) -> Iterator[Node]:
    """The row lengths in a flat index: `W + 1` in `row * (W + 1) + column`, also through one variable."""
    products = list(unit.operations_in(index, "*"))
    if not products and index.type == "identifier":
        value = unit.value_of(text_of(index), index.start_byte)
        products = list(unit.operations_in(value, "*")) if value is not None else []
    for product in products:
        for side in ("left", "right"):
            factor = bare(product.child_by_field_name(side))
            if factor is None or not _is_constant(unit, factor):
                continue
            if not indexing(unit).form(factor).keys() - UNKNOWN.keys():
                yield factor


def _is_constant(unit: Unit, factor: Node) -> bool:
    """Whether a factor is made of sizes alone: constants and the kernel's own parameters, no index handed over."""
    kernel = unit.kernel
    own = {p.name for p in kernel.parameters} | {p.name for p in kernel.template_parameters}
    names = names_of(kernel.source) if kernel.source is not None else None
    return all(
        name in own
        or name.isupper()
        or (names is not None and (name in names.macros or name in names.functions))
        or written_number(kernel, name) is not None
        or number_of(unit, unit.value_of(name, factor.start_byte)) is not None
        for name in identifiers_in(factor)
    )


def _detect_in(unit: Unit) -> Iterator[Site]:
    names: set[str] = set()
    for variable in unit.shared_variables:
        if len(variable.sizes) >= 2 and is_padded(unit, variable.sizes[-1]):
            names.add(variable.name)
            note = f"rows of {variable.name} are padded to {text_of(variable.sizes[-1])}"
            yield seen(variable.node, note, variable.name, by="padding")
    twisted = unit.operations.get("^", [])
    for access in indexing(unit).accesses:
        if access.space != "shared":
            continue
        if access.root not in names and any(
            is_padded(unit, pitch) for index in access.indices[-1:] for pitch in _pitches(unit, index)
        ):
            names.add(access.root)
            yield seen(access.node, f"rows of {access.root} are padded", access.root, by="padding")
        if twisted and any(_is_twisted(unit, index, twisted) for index in access.indices):
            yield seen(access.node, f"index of {access.root} is swizzled", access.root, by="swizzle")
    layout = first_type(unit, _LIBRARY)
    if layout is not None:
        yield seen(layout[1], "CuTe swizzles a shared layout", by="swizzle")


def _is_twisted(unit: Unit, index: Node, twisted: list[Node]) -> bool:
    if any(contains(index, t) for t in twisted):
        return True
    value = unit.value_of(text_of(index), index.start_byte) if index.type == "identifier" else None
    return value is not None and any(contains(value, t) for t in twisted)


MECHANISM = Mechanism(
    title="Padding or swizzle against bank conflicts",
    direction=Direction.MEMORY_ACCESS,
    summary="Shifts the rows of a shared tile so that the 32 threads of a warp hit 32 different banks.",
    looks_for="Shared arrays with rows a few elements over a power of two, and shared indices made with `^`.",
    detect=in_units(_detect_in),
    conditions=(
        validity("launch.shared_bytes <= device.shared_bytes_per_block", "hardware", "Padding takes room."),
        profit("dtype(x) == float32", "data types", "One pad element moves a row by one bank."),
    ),
)
