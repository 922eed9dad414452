"""What a round reads of the one before from memory, kept in a variable.

`for (int j = 1; j < n; j++) { y[j] = y[j - 1] + x[j]; }` is `float last = 1 < n ? y[1 - 1] : 0;` and then
`last = last + x[j]; y[j] = last;`. Nothing else changes: this is no rewrite by itself, but what other rewrites start
from, which hand a variable on from thread to thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from kernel_gate.expr.polynomials import polynomial
from kernel_gate.expr.terms import Num, Var, sub, substituted
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.code.model import Access
from kernel_lineage.code.types import dtype_bytes
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import (
    Loop,
    arguments_of,
    bare,
    contains,
    field_of,
    operator_of,
    text_of,
    uses_of,
)
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import replace_node
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.choosing_steps import CHOOSING
from kernel_lineage.rewrite.assists.counting_loops import declares
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    descendants,
    indent_at,
    insert_before,
    newline_of,
    statements_of,
    syntax_of,
    taken_name,
    with_changes,
    with_pragmas,
)
from kernel_lineage.rewrite.assists.loop_changes import changed_in, written_by_calls
from kernel_lineage.rewrite.candidate import Edit

_JUMPS = {"continue_statement", "goto_statement", "break_statement", "return_statement"}


def carried_elements(kernel: Kernel) -> list[Edit]:
    """The edits that keep in a variable what a round combines with its own element; none where no round does."""
    syntax = syntax_of(kernel)
    taken = identifiers_in(syntax.entry.node)
    return [edit for loop in syntax.entry.loops for edit in _carried_in(kernel, syntax, loop, taken)]


def _carried_in(kernel: Kernel, syntax: CudaSyntax, loop: Loop, taken: set[str]) -> list[Edit]:
    if loop.body is None or loop.start is None or loop.bound is None or not declares(loop):
        return []
    statements = statements_of(loop.body)
    block = loop.node.parent is not None and loop.node.parent.type == "compound_statement"
    around = any(one is not loop and contains(loop.node, one.node) for one in syntax.entry.loops)
    if not block or around:
        return []
    if any(n.type in _JUMPS | {"lambda_expression"} for n in descendants(loop.body)):
        return []
    met = [a for a in read_open(kernel).accesses if a.at is not None and _within(loop.node, a)]
    writes = {a.at for a in met if a.writes}
    if len(writes) != 1 or written_by_calls(syntax, loop.node.start_byte, loop.node.end_byte):
        return []
    for statement in statements:
        store = statement.named_children[0] if statement.type == "expression_statement" else None
        place = store.child_by_field_name("left") if store is not None else None
        if store is None or place is None or (place.start_byte, place.end_byte) not in writes:
            continue
        value = bare(store.child_by_field_name("right"))
        before = _read_before(met, (place.start_byte, place.end_byte))
        read = next((n for n in _combined(value, operator_of(store)) if _at(n) in before), None)
        kind = _type_of(kernel, met, place)
        if value is None or read is None or not kind or len(before) != 1:
            return []
        if identifiers_in(read) & changed_in(syntax, loop.body) or any(
            n.type == "call_expression" for n in descendants(loop.start)
        ):
            return []
        return _edits(kernel, loop, (store, place, value, read), kind, taken)
    return []


def _within(node: Node, access: Access) -> bool:
    return access.at is not None and node.start_byte <= access.at[0] and access.at[1] <= node.end_byte


def _at(node: Node) -> tuple[int, int]:
    return node.start_byte, node.end_byte


def _read_before(met: list[Access], place: tuple[int, int]) -> set[tuple[int, int]]:
    """Where a loop reads what the round before wrote; none where it may read or write that otherwise, too."""
    places = [a for a in met if a.at == place]
    written = next((a for a in places if a.writes), None)
    if written is None or written.offset is None or not written.loops or written.space != "global":
        return set()
    rounds = written.loops[-1]
    earlier = polynomial(substituted(written.offset, {rounds: sub(Var(rounds), Num(1))}))
    reads: set[tuple[int, int]] = set()
    for access in met:
        if access.root != written.root or access.at is None or access.at == place:
            continue
        if access.offset is None or access.nbytes != written.nbytes:
            return set()
        offset = polynomial(access.offset)
        if offset == earlier and earlier != polynomial(written.offset):
            reads.add(access.at)
        elif offset != polynomial(written.offset):
            return set()
    return reads


def _combined(value: Node | None, operator: str) -> Iterator[Node]:
    """What an element may be that is combined with others: a term or factor, an argument of `fmaxf`, or all of them."""
    if value is None:
        return
    if operator == "+=":
        yield value
    elif operator == "=" and value.type == "binary_expression" and operator_of(value) in ("+", "*"):
        yield from (s for side in ("left", "right") if (s := bare(field_of(value, side))) is not None)
    elif operator == "=" and text_of(value.child_by_field_name("function")) in CHOOSING:
        yield from (s for a in arguments_of(value) if (s := bare(a)) is not None)


def _type_of(kernel: Kernel, met: list[Access], place: Node) -> str:
    """The type of an element as the kernel's parameter has it; "" where that is another one, or not plain."""
    access = next(a for a in met if a.at == _at(place))
    parameter = kernel.parameter(access.root)
    if parameter is None or parameter.dtype is None or dtype_bytes(parameter.dtype) != access.nbytes:
        return ""
    kind = " ".join(re.sub(r"\b(?:const|__restrict__|__restrict)\b|\*", " ", parameter.type).split())
    return kind if re.fullmatch(r"[\w ]+", kind) else ""


def _edits(
    kernel: Kernel, loop: Loop, parts: tuple[Node, Node, Node, Node], kind: str, taken: set[str]
) -> list[Edit]:
    store, place, value, read = parts
    assert loop.start is not None and store.parent is not None
    data, at = data_of(kernel), with_pragmas(loop.node).start_byte
    last = taken_name("last", taken)
    start = text_of(loop.start)
    start = start if re.fullmatch(r"\w+", start) else f"({start})"
    first, test = (
        _with(
            part,
            [(n, start) for n in uses_of(part, loop.counter)],
        )
        for part in (read, loop.condition)
        if part is not None
    )
    new = _with(value, [(read, last)])
    if operator_of(store) == "+=":
        new = f"{last} + {text_of(place)}"
    own = [f"{last} = {new};", f"{text_of(place)} = {last};"]
    alone = store.parent == loop.body
    gap = newline_of(data) + indent_at(data, store.start_byte)
    line = f"{kind} {last} = {test} ? {first} : 0;{newline_of(data)}{indent_at(data, at)}"
    return [
        insert_before(kernel, at, line),
        replace_node(store.parent, f"{{ {' '.join(own)} }}" if alone else gap.join(own)),
    ]


def _with(whole: Node | None, changes: list[tuple[Node, str]]) -> str:
    """The text of a node with others in the place of its parts."""
    assert whole is not None
    return with_changes(text_of(whole).encode(), whole.start_byte, changes)
