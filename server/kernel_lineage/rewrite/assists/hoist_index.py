"""Work out the part of an index that a loop does not change once, before the loop.

Before:
    for (int i = 0; i < C; i++) { sum += x[row * C + i]; }
After:
    const float* x_row = x + row * C;
    for (int i = 0; i < C; i++) { sum += x_row[i]; }

Only what surely has the same value in every round is moved, and only where the two parts of the index add up to the
same element: index arithmetic in unsigned 32-bit numbers may wrap around as a whole and not in its parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from tree_sitter import Node

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_forms import Loop, bare, contains, field_of, operator_of, text_of
from kernel_lineage.kernels.cuda_indexing import Access, indexing
from kernel_lineage.kernels.cuda_mapping import moving_loops
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import replace_node
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.integer_types import IntegerTypes
from kernel_lineage.rewrite.assists.layout import (
    begins_line,
    data_of,
    descendants,
    fresh_name,
    identifiers_in,
    indent_at,
    insert_before,
    newline_of,
    syntax_of,
)
from kernel_lineage.rewrite.assists.loop_changes import changed_in
from kernel_lineage.rewrite.assists.model import Assist, Refusal, attempt
from kernel_lineage.rewrite.candidate import Candidate, Edit

_FIXED = frozenset(
    {
        "binary_expression",
        "cast_expression",
        "field_expression",
        "field_identifier",
        "identifier",
        "number_literal",
        "parenthesized_expression",
        "primitive_type",
        "sized_type_specifier",
        "type_descriptor",
        "type_identifier",
    }
)
"""What an expression that only computes with numbers is made of."""
_OPERATORS = frozenset({"+", "-", "*", "<<"})


@dataclass(frozen=True, slots=True)
class _Hoisted:
    """One access whose index has a part that a loop does not change."""

    node: Node
    pointer: str
    fixed: tuple[str, ...]
    """Terms that are moved before the loop, as written."""
    rest: str
    """The index that stays."""
    loop: Loop
    """The outermost loop that does not change the moved terms."""


def _rewrite(kernel: Kernel, anchor: Anchor) -> Candidate:
    syntax = syntax_of(kernel)
    hoists: list[_Hoisted] = []
    first: Refusal | None = None
    here: _Hoisted | None = None
    for access in indexing(syntax.entry).accesses:
        if access.space != "global" or access.node.type != "subscript_expression":
            continue
        one = attempt(partial(_hoisted, kernel, syntax, access))
        named = access.node.start_byte < anchor.span.end and anchor.span.start < access.node.end_byte
        if isinstance(one, Refusal):
            first = first or (one if named else None)
        elif one is not None:
            hoists.append(one)
            here = here or (one if named else None)
    if here is None:
        raise first or Refusal(f"{kernel.name} has no index here with a product that a loop does not change")
    edits = _edits(kernel, syntax, here.loop, [h for h in hoists if h.loop.node == here.loop.node])
    return ASSIST.candidate(
        kernel,
        edits,
        explanation=f"`{' + '.join(here.fixed)}` is worked out once, before the loop; a pointer takes two registers.",
    )


def _hoisted(kernel: Kernel, syntax: CudaSyntax, access: Access) -> _Hoisted | None:
    """What can be moved out of an access's index; None when nothing in it asks for that."""
    unit, pointer = syntax.entry, field_of(access.node, "argument")
    moving = moving_loops(unit, access)
    if pointer is None or pointer.type != "identifier" or len(access.indices) != 1 or not moving:
        return None
    terms = _terms(access.indices[0])
    innermost = moving[-1]
    changed = changed_in(syntax, innermost.node)
    fixed = [t for t, plus in terms if plus and not identifiers_in(t) & changed and _only_computes(t)]
    if not any(_has_product(t) for t in fixed):
        product = next((t for t, _ in terms if _has_product(t) and not identifiers_in(t) & changed), None)
        if product is not None:
            raise Refusal(f"`{text_of(product)}` does more than compute with numbers")
        return None
    rest = [(t, plus) for t, plus in terms if t not in fixed]
    if not rest:
        return None
    if text_of(pointer) in changed:
        raise Refusal(f"`{text_of(pointer)}` itself moves in the loop over {innermost.counter}")
    IntegerTypes(kernel, syntax).check_split(access.indices[0], access.node)
    names = {text_of(pointer)}.union(*(identifiers_in(t) for t in fixed))
    loop = innermost
    for outer in reversed(unit.loops_around(innermost.node)):
        if names & changed_in(syntax, outer.node):
            break
        loop = outer
    written = "".join((" + " if plus else " - ") + text_of(t) for t, plus in rest).removeprefix(" + ")
    written = "-" + written.removeprefix(" - ") if written.startswith(" - ") else written
    return _Hoisted(access.node, text_of(pointer), tuple(text_of(t) for t in fixed), written, loop)


def _terms(index: Node) -> list[tuple[Node, bool]]:
    """The terms of a sum, and whether each is added."""
    node = bare(index)
    if node is not None and node.type == "binary_expression" and operator_of(node) in ("+", "-"):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None and right is not None:
            if operator_of(node) == "-":
                return [*_terms(left), (right, False)]
            return [*_terms(left), *_terms(right)]
    return [
        (index if node is None or node.type in ("conditional_expression", "comma_expression") else node, True)
    ]


def _has_product(node: Node) -> bool:
    return any(
        n.type == "binary_expression" and operator_of(n) in ("*", "<<") and identifiers_in(n)
        for n in descendants(node)
    )


def _only_computes(node: Node) -> bool:
    return all(
        n.type in _FIXED and (n.type != "binary_expression" or operator_of(n) in _OPERATORS)
        for n in descendants(node)
        if n.is_named
    )


def _edits(kernel: Kernel, syntax: CudaSyntax, loop: Loop, all_hoisted: list[_Hoisted]) -> list[Edit]:
    data = data_of(kernel)
    before = loop.node.prev_named_sibling
    pragma = before is not None and before.type == "preproc_call"
    start = before.start_byte if before is not None and pragma else loop.node.start_byte
    outer = loop.node.parent
    if outer is None or outer.type != "compound_statement" or not begins_line(data, start):
        line = loop.node.start_point.row + 1
        raise Refusal(f"the loop in line {line} is not a statement on a line of its own")
    taken = identifiers_in(syntax.entry.node)
    rows: dict[tuple[str, tuple[str, ...]], str] = {}
    lines: list[str] = []
    edits: list[Edit] = []
    for one in all_hoisted:
        if any(contains(other.node, one.node) and other is not one for other in all_hoisted):
            continue
        name = rows.get((one.pointer, one.fixed))
        if name is None:
            name = rows[one.pointer, one.fixed] = fresh_name(f"{one.pointer}_row", taken)
            taken.add(name)
            lines.append(
                f"{_pointer_type(kernel, one.pointer)} {name} = {one.pointer} + {' + '.join(one.fixed)};"
            )
        edits.append(replace_node(one.node, f"{name}[{one.rest}]"))
    gap = newline_of(data) + indent_at(data, start)
    # A pragma begins its node at the line's first column, where the blanks of the line are part of it.
    edits.append(insert_before(kernel, start, "".join(line + gap for line in lines)))
    return edits


def _pointer_type(kernel: Kernel, pointer: str) -> str:
    parameter = kernel.parameter(pointer)
    if parameter is None or "[" in parameter.type or "*" not in parameter.type:
        return "auto*"
    return " ".join(
        parameter.type.replace("__restrict__", "").replace("__restrict", "").replace(" *", "*").split()
    )


ASSIST = Assist(
    id="hoist_index",
    title="Work out a row's address before the loop",
    skill="hoisted-index",
    pattern="unhoisted_index",
    make=_rewrite,
)
