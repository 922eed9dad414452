"""Load and store several elements at a time, where an element's work is independent of its neighbours'.

Before:
    if (i < n) { out[i] = a * x[i]; }
After: each thread takes four elements with one `float4` load and one store (eight of a half type, sixteen of a byte);
addresses that are not aligned, and the elements after the last whole group, take the old code. The grid shrinks as much
along x; a grid that is not shrunk gives the same result. Rows (`for (int i = threadIdx.x; i < C; i += blockDim.x)`) are
done likewise, loop by loop.

Elements that are structures of 16 bytes, say, of which several members are used, are each one access.

An index may be taken apart: `x[i / half * 2 * half + i % half]` of neighbours are neighbours where `half` is a multiple
of four, which is asked at run time; `x[2 * i]` and `x[2 * i + 1]` of four elements are two accesses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

from tree_sitter import Node

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import Loop, Variable, contains, test_of, text_of, uses_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.cuda_tests import Condition, conditions
from kernel_lineage.kernels.edits import replace_node
from kernel_lineage.kernels.source import Kernel, Span
from kernel_lineage.rewrite.assists.blocks_at_launch import blocks_changed
from kernel_lineage.rewrite.assists.element_work import CASTS
from kernel_lineage.rewrite.assists.hidden_reads import check_hidden_reads
from kernel_lineage.rewrite.assists.layout import (
    begins_line,
    data_of,
    descendants,
    fresh_name,
    indent_at,
    indent_unit,
    newline_of,
    replace_between,
    start_of_line,
    statements_of,
    syntax_of,
)
from kernel_lineage.rewrite.assists.loop_heads import counted_header
from kernel_lineage.rewrite.assists.model import Assist, Refusal, attempt, with_alternatives
from kernel_lineage.rewrite.assists.neighbour_body import NeighbourBody
from kernel_lineage.rewrite.assists.thread_order import ThreadOrder
from kernel_lineage.rewrite.assists.vector_body import VectorBody
from kernel_lineage.rewrite.assists.who_takes import (
    check_blocks_alike,
    check_element_is_place,
    check_in_order,
    pass_of,
    relied_on,
)
from kernel_lineage.rewrite.assists.wide_bodies import element_bodies, loop_body
from kernel_lineage.rewrite.candidate import Candidate, Edit


def _rewrite(kernel: Kernel, anchor: Anchor) -> Candidate:
    syntax = syntax_of(kernel)
    if "float4" in kernel.text or "reinterpret_cast<" in kernel.text:
        raise Refusal(f"{kernel.name} has vector accesses already")
    loops = [
        x for x in syntax.entry.loops if x.node.type == "for_statement" and _touches(x.node, anchor.span)
    ]
    loops = [x for x in loops if not any(y is not x and contains(x.node, y.node) for y in loops)]
    return _rewrite_rows(kernel, syntax, loops) if loops else _rewrite_elements(kernel, syntax)


_PLACES = {"threadIdx", "blockIdx", "blockDim"}
_OF_PLACE = [re.compile(rf"\b{what}\b(?!\s*\.\s*[yz])|\bgridDim\b") for what in ("threadIdx", "blockIdx")]
_HIDDEN = re.compile(r"threadIdx|blockIdx|gridDim")
_NUMBERS = {1: "one", 2: "two", 4: "four", 8: "eight", 16: "sixteen"}


def _touches(node: Node, span: Span) -> bool:
    return node.start_byte < span.end and span.start < node.end_byte


@dataclass(frozen=True, slots=True)
class _Place:
    """Where new code goes, and the names that it brings."""

    data: bytes
    indent: str
    unit: str
    newline: str

    @classmethod
    def at(cls, kernel: Kernel, node: Node) -> _Place:
        data = data_of(kernel)
        return cls(data, indent_at(data, node.start_byte), indent_unit(kernel), newline_of(data))

    def written(self, lines: list[str]) -> str:
        return self.newline.join(self.indent + line if line else "" for line in lines)[len(self.indent) :]


def _rewrite_rows(kernel: Kernel, syntax: CudaSyntax, loops: list[Loop]) -> Candidate:
    """Vectorise the loops that the anchor names, and with them the kernel's other passes over the same row."""
    edits: list[Edit] = []
    refusals: list[Refusal] = []
    passes = {pass_of(loop) for loop in loops}
    nested = [
        x
        for x in syntax.entry.loops
        if any(contains(o.node, x.node) or contains(x.node, o.node) for o in loops)
    ]
    others = [x for x in syntax.entry.loops if x not in nested and pass_of(x) in passes]
    # In the order of the text, so that all anchors of a row lead to one candidate.
    for loop in sorted([*loops, *others], key=lambda x: x.node.start_byte):
        edit = attempt(partial(_row_loop, kernel, syntax, loop, len(edits)))
        if isinstance(edit, Edit):
            edits.append(edit)
        elif loop in loops:
            refusals.append(edit)
    if len(refusals) == len(loops):
        raise refusals[0]
    return _candidate(
        kernel,
        edits,
        "Rows at an address that is aligned are read and written in accesses of up to 16 bytes.",
    )


def _row_loop(kernel: Kernel, syntax: CudaSyntax, loop: Loop, number: int) -> Edit:
    header = counted_header(loop)
    assert loop.start is not None and loop.bound is not None
    by = ThreadOrder(kernel, syntax).covers_all(loop)
    if by is None:
        raise Refusal(
            f"it is not known that each element is taken once from `{text_of(loop.start)}` in steps of `{loop.step}`"
        )
    check_element_is_place(kernel, loop, by)
    body = loop_body(kernel, syntax, loop, by)
    if identifiers_in(loop.bound) & (set(body.assigned_outside) | {loop.counter}):
        raise Refusal(f"the bound `{text_of(loop.bound)}` changes in the loop")
    if by == "grid" and body.assigned_outside:
        check_blocks_alike(kernel, syntax, loop)
    if by == "thread":
        check_in_order(syntax, loop)
    name = relied_on(syntax, loop, body, by) if by != "thread" else None
    if name is not None:
        raise Refusal(
            f"`{name}` is touched elsewhere in the kernel by the same thread, without a barrier between"
        )
    place = _Place.at(kernel, loop.node)
    taken = identifiers_in(syntax.entry.node)
    suffix = str(number + 1) if number else ""
    lanes = body.lanes
    quads, quad, lane = (fresh_name(n, taken) for n in (f"{body.group}s{suffix}", body.group, "lane"))
    kind = text_of(header.child_by_field_name("type"))
    bound, start, step = _grouped(loop.bound), text_of(loop.start), loop.step
    counting = f"{quad}++" if step == "1" else f"{quad} += {step}"
    tail = "" if by == "thread" and start == "0" else f" + {_term(start)}"
    old = place.data[loop.node.start_byte : loop.node.end_byte].decode()
    moved = old.replace(text_of(header), f"{kind} {loop.counter} = {lanes} * {quads}{tail};", 1)
    lines = [
        f"// Whole groups of {_NUMBERS[lanes]} that wide accesses may take; the loop after them does what is left.",
        f"{kind} {quads} = {body.aligned()} ? {bound} / {lanes} : 0;",
        f"for ({kind} {quad} = {start}; {quad} < {quads}; {counting}) {{",
        *(place.unit + line if line else "" for line in body.lines(place.data, kind, quad, lane, place.unit)),
        "}",
    ]
    text = place.written(lines) + place.newline + place.indent + moved
    return replace_node(loop.node, text)


def _grouped(node: Node) -> str:
    return (
        text_of(node)
        if node.type in ("identifier", "number_literal", "field_expression")
        else f"({text_of(node)})"
    )


def _term(text: str) -> str:
    return f"({text})" if any(c in text for c in "?<>|&^") else text


def _rewrite_elements(kernel: Kernel, syntax: CudaSyntax) -> Candidate:
    """Vectorise a kernel in which each thread takes one element."""
    order = ThreadOrder(kernel, syntax)
    index = next((v for v in syntax.entry.variables if v.value and order.is_global_along(v.value, "x")), None)
    body_node = syntax.entry.node.child_by_field_name("body")
    if index is None or body_node is None:
        raise Refusal(f"{kernel.name} has neither a loop over elements here nor one element for each thread")
    statements = [s for s in statements_of(body_node) if s.start_byte >= index.node.end_byte]
    _check_place_is_index(kernel, syntax, index, statements)
    parts = guarded(statements, index.name)
    guard, bound, inner, others = parts
    before = [s for s in statements if s.end_byte <= guard.start_byte]
    if any(index.name in identifiers_in(s) for s in before):
        raise Refusal(f"`{index.name}` is used before its bound is checked")
    if index.name in identifiers_in(bound):
        raise Refusal(f"the bound `{text_of(bound)}` depends on the element")
    for test in others:
        reads = any(n.type in ("subscript_expression", "call_expression") for n in descendants(test.node))
        if reads or index.name in identifiers_in(test.node):
            raise Refusal(
                f"`{text_of(test.node)}`, beside the bound of `{index.name}`, may differ from element to element"
            )
    return with_alternatives(
        element_bodies(kernel, syntax, inner, index.name),
        lambda body: _for_elements(
            kernel, body, _element_edits(kernel, syntax, index, guard, inner, bound, others, body)
        ),
    )


def _check_place_is_index(kernel: Kernel, syntax: CudaSyntax, index: Variable, behind: list[Node]) -> None:
    """Refuse a kernel that tells a thread or a block apart by more than its element, of which it will have several."""
    text = text_of(syntax.entry.node)
    through = identifiers_in(index.value) - _PLACES - CASTS if index.value is not None else set()
    used = {name for s in behind for name in identifiers_in(s)} & through
    if any(len(place.findall(text)) > 1 for place in _OF_PLACE) or used:
        raise Refusal(
            f"{kernel.name} uses its thread or its block beside `{index.name}`, which will be another one"
        )
    check_hidden_reads(kernel, syntax, _HIDDEN, "its thread")


def _for_elements(kernel: Kernel, body: VectorBody | NeighbourBody, edits: list[Edit]) -> Candidate:
    """The candidate with so many fewer blocks as a thread takes elements."""
    lanes = body.lanes
    if lanes == 1:
        return _candidate(
            kernel,
            edits,
            "An element is read and written in one access; one that is not aligned takes the old code.",
        )
    grids = [
        blocks_changed(kernel, launch, lambda blocks: f"({blocks} + {lanes - 1}) / {lanes}")
        for launch in kernel.launches
    ]
    written = [e for e in grids if e is not None]
    note = (
        ""
        if written and len(written) == len(grids)
        else f" Fewer blocks along x are enough, 1 of {lanes}; a launch that does not write them here was left alone."
    )
    return _candidate(
        kernel,
        [*edits, *dict.fromkeys(written)],
        f"Each thread takes {_NUMBERS[lanes]} elements; addresses that are not aligned and the last elements take the "
        f"old code.{note}",
    )


def guarded(statements: list[Node], index: str) -> tuple[Node, Node, list[Node], list[Condition]]:
    """The statement that checks the bound, the bound, the element's work, and what else the statement checks.

    Nothing may come after them.
    """
    for position, statement in enumerate(statements):
        if statement.type != "if_statement":
            continue
        test = test_of(statement)
        then = statement.child_by_field_name("consequence")
        if test is None or then is None or statement.child_by_field_name("alternative") is not None:
            continue
        rest = statements[position + 1 :]
        returns = [text_of(s).replace(" ", "") for s in statements_of(then)] == ["return;"]
        leaves = returns and bool(rest)
        parts = conditions(test, holds=not leaves)
        own = [p for p in parts if p.bound_of(index) is not None]
        bound = own[0].bound_of(index) if len(own) == 1 else None
        if bound is None or (rest and not leaves):
            continue
        others = [p for p in parts if p != own[0]]
        return statement, bound, rest if leaves else statements_of(then), others
    raise Refusal(f"the kernel does not end with the work of `{index}` behind one check of its bound")


def _element_edits(
    kernel: Kernel,
    syntax: CudaSyntax,
    index: Variable,
    guard: Node,
    inner: list[Node],
    bound: Node,
    others: list[Condition],
    body: VectorBody | NeighbourBody,
) -> list[Edit]:
    place = _Place.at(kernel, guard)
    taken = identifiers_in(syntax.entry.node)
    lanes = body.lanes
    quad, lane = (fresh_name(n, taken) for n in (body.group, "lane"))
    limit, i = _grouped(bound), index.name
    start = inner[0].start_byte
    old = place.data[start_of_line(place.data, start) : inner[-1].end_byte].decode().splitlines()
    margin = indent_at(place.data, start)
    if not begins_line(place.data, start):
        old = [margin + text_of(inner[0]), *text_of(inner[-1]).splitlines()[1:]] if len(inner) == 1 else old
    step = place.unit
    # The offsets of a row that is not there are never added to a pointer.
    first, count = (quad, limit) if lanes == 1 else (f"{lanes} * {quad}", f"{limit} / {lanes}")
    also = "".join(f"{o.text} && " for o in others)
    lines = [
        f"if ({also}{body.aligned()} && {quad} < {count}) {{",
        *(step + line if line else "" for line in body.lines(place.data, index.type, quad, lane, step)),
        f"}} else if ({also}{quad} <= {count}) {{",
        f"{step}for ({index.type} {i} = {first}; {i} < {text_of(bound)} && {i} - {first} < {lanes}; {i}++) {{",
        *(2 * step + (line[len(margin) :] if line.startswith(margin) else line.lstrip()) for line in old),
        f"{step}}}",
        "}",
    ]
    end = max(guard.end_byte, inner[-1].end_byte)
    declarator = uses_of(index.node, index.name)[0]
    return [
        replace_node(declarator, quad),
        replace_between(kernel, guard.start_byte, end, place.written(lines)),
    ]


def _candidate(kernel: Kernel, edits: list[Edit], explanation: str) -> Candidate:
    return ASSIST.candidate(kernel, edits, explanation=explanation, guarded=True)


ASSIST = Assist(
    title="Load and store several elements at a time",
    skill="vectorised-row-access",
    pattern="scalar_row_access",
    make=_rewrite,
)
