"""Padding or swizzling a shared tile so that a warp's accesses fall into different banks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_expressions import identifiers_in, integer_of
from kernel_lineage.kernels.cuda_forms import bare, contains, operator_of, read_call, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.linear_forms import UNKNOWN
from kernel_lineage.kernels.mechanisms.file_definitions import FileDefinitions, definitions_of, hidden_names
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import first_type, seen
from kernel_lineage.kernels.units import in_units

ID = "bank_conflict_padding"

_PADS = ("pad", "skew")

_LIBRARY = re.compile(r"\b(?:cute::)?(?:Swizzle\s*<|Layout_\w+_SW\d+_Atom|SmemLayoutAtom\w*SW\d+)")
"""CuTe's swizzled layouts."""


def is_padded(size: Node, known: FileDefinitions | None = None) -> bool:
    """Whether a row length is a bit more than a power of two, or is written as something plus a pad."""
    size_expression = bare(size)
    length = integer_of(size)
    if length is not None:
        power = 1 << max(length.bit_length() - 1, 0)
        return length >= 17 and 0 < length - power <= 8
    if (
        size_expression is None
        or size_expression.type != "binary_expression"
        or operator_of(size_expression) not in ("+", "|")
    ):
        return False
    right = size_expression.child_by_field_name("right")
    pad = known.value(right) if known is not None else integer_of(right)
    return any(word in text_of(right).lower() for word in _PADS) if pad is None else 0 < pad <= 16


def _stands_for_a_pad(unit: Unit, node: Node, depth: int = 0) -> bool:
    """Whether a row length has a pad in it: as written, through a name, or through a function of the file."""
    known = definitions_of(unit.kernel)
    if is_padded(node, known):
        return True
    if depth >= 4:
        return False
    if node.type in ("identifier", "qualified_identifier"):
        name = text_of(node).rpartition("::")[2]
        value = bare(known.numbers.get(name))
        number = known.value(value) if value is not None else None
        if number is not None:
            return 0 < number - (1 << number.bit_length() - 1) <= 8 and number >= 17 if number > 0 else False
        return value is not None and _stands_for_a_pad(unit, value, depth + 1)
    if node.type == "call_expression":
        body = known.functions.get(read_call(node).name)
        return body is not None and any(is_padded(n, known) for n in _returned(body))
    return False


def _returned(body: Node) -> Iterator[Node]:
    waiting = [
        n
        for statement in body.named_children
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
    known, hidden = definitions_of(unit.kernel), hidden_names(unit.kernel)
    return all(
        name in hidden
        or name in known.macros
        or name in known.functions
        or name.isupper()
        or known.value(known.numbers.get(name)) is not None
        for name in identifiers_in(factor)
    )


def _detect_in(unit: Unit) -> Iterator[Site]:
    told: set[str] = set()
    for variable in unit.shared_variables:
        if len(variable.sizes) >= 2 and _stands_for_a_pad(unit, variable.sizes[-1]):
            told.add(variable.name)
            said = f"rows of {variable.name} are padded to {text_of(variable.sizes[-1])}"
            yield seen(ID, variable.node, said, variable.name, by="padding")
    twisted = unit.operations.get("^", [])
    for access in indexing(unit).accesses:
        if access.space != "shared":
            continue
        if access.root not in told and any(
            _stands_for_a_pad(unit, pitch) for index in access.indices[-1:] for pitch in _pitches(unit, index)
        ):
            told.add(access.root)
            yield seen(ID, access.node, f"rows of {access.root} are padded", access.root, by="padding")
        if twisted and any(_is_twisted(unit, index, twisted) for index in access.indices):
            yield seen(ID, access.node, f"index of {access.root} is swizzled", access.root, by="swizzle")
    layout = first_type(unit, _LIBRARY)
    if layout is not None:
        yield seen(ID, layout[1], "CuTe swizzles a shared layout", by="swizzle")


def _is_twisted(unit: Unit, index: Node, twisted: list[Node]) -> bool:
    if any(contains(index, t) for t in twisted):
        return True
    value = unit.value_of(text_of(index), index.start_byte) if index.type == "identifier" else None
    return value is not None and any(contains(value, t) for t in twisted)


MECHANISM = Mechanism(
    id=ID,
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
