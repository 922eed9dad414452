"""Sums along a row of each thread's own, of which eight lanes read each row together.

`for (int t = threadIdx.x; t < n; t += blockDim.x) { … for (int d = 0; d < D; d++) { dot += q[d] * k[t * D + d]; } … }`:
eight lanes have eight rows, of which each lane sums its part; then they exchange what they have.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from tree_sitter import Node

from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import (
    Loop,
    bare,
    contains,
    declarators,
    is_function,
    operator_of,
    text_of,
)
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.counting_loops import counts
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    dedented,
    descendants,
    indent_at,
    indent_unit,
    insert_before,
    newline_of,
    replace_between,
    statements_of,
    taken_name,
    with_pragmas,
)
from kernel_lineage.rewrite.assists.loop_changes import changed_in, is_of_the_language, promised_apart
from kernel_lineage.rewrite.assists.loop_heads import counted_header
from kernel_lineage.rewrite.assists.model import MayOverlap, Refusal
from kernel_lineage.rewrite.assists.row_loops import RowLoop
from kernel_lineage.rewrite.assists.shared_sums import (
    NoSuchLoop,
    exchanged,
    parts_for,
    sums_of,
    written_at,
)
from kernel_lineage.rewrite.assists.thread_order import ThreadOrder
from kernel_lineage.rewrite.assists.vector_body import TOGETHER, VectorBody, vector_body
from kernel_lineage.rewrite.assists.warp_values import WarpValues

_LANES = 8
"""Lanes that read a row together: 128 bytes of it at a time."""
_ENDS = {"break_statement", "return_statement", "goto_statement", "continue_statement"}


@dataclass(frozen=True, slots=True)
class _Rows:
    """The loop over the rows, the one along a row, and what stands between their heads."""

    outer: Loop
    header: Node
    row: RowLoop
    body: VectorBody
    declared: list[Node]
    """What the loop along a row needs of its row."""


def row_sums(kernel: Kernel, syntax: CudaSyntax, loop: Loop, taken: set[str]) -> list[Edit]:
    """The edits that share the sums of a loop over rows; new names are added to `taken`. Refused where there are none,
    or lanes may not share them.
    """
    inner = [one for one in syntax.entry.loops if one is not loop and contains(loop.node, one.node)]
    order = ThreadOrder(kernel, syntax)
    if (
        len(inner) != 1
        or loop.node.type != "for_statement"
        or order.covers_all(loop) not in ("block", "grid")
    ):
        raise NoSuchLoop("no loop in which each thread takes rows in turn, each with one loop along it")
    rows = _read(kernel, syntax, loop, inner[0])
    _check(kernel, syntax, rows)
    return _edits(kernel, rows, taken)


def _read(kernel: Kernel, syntax: CudaSyntax, outer: Loop, inner: Loop) -> _Rows:
    row = sums_of(syntax, inner)
    header = counted_header(outer)
    if (
        not counts(kernel, text_of(counted_header(row.loop).child_by_field_name("type")))
        or text_of(row.loop.start) != "0"
    ):
        raise Refusal(f"`{row.loop.counter}` does not count a row from 0")
    if inner.node.parent is None or inner.node.parent not in (outer.body, outer.node):
        raise Refusal(f"the loop in line {inner.node.start_point.row + 1} is not done for every row")
    body = vector_body(kernel, syntax, statements_of(row.loop.body), row.loop.counter, in_order=True)
    before = [s for s in statements_of(outer.body) if s.end_byte <= inner.node.start_byte]
    needed = identifiers_in(inner.node)
    declared: list[Node] = []
    sums = {r.name for r in row.reductions}
    for statement in reversed(before):
        names = (
            {name for name, *_ in declarators(statement)} if statement.type == "declaration" else set[str]()
        )
        used = names & needed - sums
        if used and names & sums:
            raise Refusal(f"`{min(used)}` is declared beside a sum; declare it in a statement of its own")
        if used:
            declared.insert(0, statement)
            needed |= identifiers_in(statement)
        elif not names and changed_in(syntax, statement) & needed - sums:
            raise Refusal(
                f"what line {statement.start_point.row + 1} changes is not the same for other lanes' rows"
            )
    return _Rows(outer, header, row, body, declared)


def _check(kernel: Kernel, syntax: CudaSyntax, rows: _Rows) -> None:
    values = WarpValues(kernel, syntax, syntax.entry)
    outer, loop = rows.outer, rows.row.loop
    if values.needs_together(outer.node, ()):
        raise Refusal("lanes come to the loop over rows only as far as there is something for them to do")
    if outer.node.parent is None or outer.node.parent.type != "compound_statement":
        raise Refusal("the loop over rows stands without braces around it")
    assert outer.bound is not None and outer.body is not None and loop.body is not None
    changed = changed_in(syntax, outer.node)
    if not values.is_same(outer.bound) or identifiers_in(outer.bound) & changed:
        raise Refusal(f"`{text_of(outer.bound)}` may differ from lane to lane")
    own = {outer.counter, loop.counter, *(r.name for r in rows.row.reductions)}
    own |= {v.name for v in syntax.entry.variables if contains(loop.node, v.node)}
    own |= {name for d in rows.declared for name, *_ in declarators(d)}
    for part in (loop.node, *rows.declared):
        for node in descendants(part):
            name = text_of(node) if node.type == "identifier" else ""
            if name and name not in own and not is_function(node) and not values.name_is_same(name, node):
                raise Refusal(f"`{name}` may differ from lane to lane")
    of_row = {outer.counter, *(name for d in rows.declared for name, *_ in declarators(d))}
    if identifiers_in(loop.bound) & of_row if loop.bound is not None else True:
        raise Refusal(f"rows of {kernel.name} may differ in length")
    if not any(identifiers_in(n) & of_row for a in rows.body.accesses for n in a.nodes):
        raise Refusal(f"the loop in line {loop.node.start_point.row + 1} reads no row of each thread's own")
    for node in (n for d in rows.declared for n in descendants(d)):
        function = text_of(node.child_by_field_name("function")) if node.type == "call_expression" else ""
        if (function and not is_of_the_language(function)) or node.type in (
            "assignment_expression",
            "update_expression",
        ):
            raise Refusal(f"`{text_of(node)}` would be done several times")
    for node in descendants(outer.body):
        function = text_of(node.child_by_field_name("function")) if node.type == "call_expression" else ""
        if node.type in _ENDS or (function and TOGETHER.search(function)):
            raise Refusal(f"`{text_of(node)}` within the loop over rows is not for all lanes")
    _check_apart(syntax, rows)


def _check_apart(syntax: CudaSyntax, rows: _Rows) -> None:
    """Refuse rows of which a lane may read what another one has yet to write."""
    reach = indexing(syntax.entry).accesses
    parts = [rows.row.loop.node, *rows.declared]
    reads = [a for a in reach if any(contains(p, a.node) for p in parts) and a.space != "local"]
    for write in (a for a in reach if a.writes and contains(rows.outer.node, a.node) and a.space != "local"):
        for read in reads:
            if read.space != write.space or (read.space == "shared" and read.root != write.root):
                continue
            if read.root == write.root or not promised_apart(syntax, read.root, write.root):
                kind = Refusal if read.root == write.root else MayOverlap
                raise kind(
                    f"`{text_of(read.node)}` may be what another lane writes as `{text_of(write.node)}`"
                )


def _edits(kernel: Kernel, rows: _Rows, taken: set[str]) -> list[Edit]:
    data, step, newline = data_of(kernel), indent_unit(kernel), newline_of(data_of(kernel))
    outer, loop, body = rows.outer, rows.row.loop, rows.body

    named = partial(taken_name, taken=taken)

    lane, first, wide, groups, group, mate, place = map(
        named, ("lane", "first", "wide", "groups", body.group, "mate", "place")
    )
    parts = {r.name: named(f"{r.name}_parts") for r in rows.row.reductions}
    kind = text_of(rows.header.child_by_field_name("type"))
    along = text_of(counted_header(loop).child_by_field_name("type"))
    bound, end = text_of(outer.bound), text_of(loop.bound)
    limit = end if end.replace("_", "").isalnum() else f"({end})"
    row = [
        f"const {kind} {outer.counter} = {first} + {mate} < {bound} ? {first} + {mate} : {bound} - 1;",
        *(line for d in rows.declared for line in dedented(data, [d], [])),
    ]
    each = ["#pragma unroll", f"for (int {mate} = 0; {mate} < {_LANES}; {mate}++) {{"]
    own = parts_for(rows.row, parts, mate)
    condition = bare(loop.condition)
    assert condition is not None and loop.body is not None and outer.body is not None
    if operator_of(condition) != "<":
        raise Refusal(f"`{text_of(condition)}` does not say how many elements a row has")

    def moved(lines: list[str], by: int = 1) -> list[str]:
        return [step * by + line if line.strip() else "" for line in lines]

    rest = f"{along} {loop.counter} = {body.lanes} * {groups} + {lane} % {_LANES}"
    work = [
        f"// {_LANES} lanes read each of their rows side by side; in the end each one has the sum of its own.",
        *(f"{r.type} {parts[r.name]}[{_LANES}] = {{}};" for r in rows.row.reductions),
        "{",
        *moved(
            [
                f"const {kind} {first} = {outer.counter} - {lane} % {_LANES};",
                f"bool {wide} = true;",
                *each,
                *moved([*row, f"{wide} = {wide} && {body.aligned()};"]),
                "}",
                f"const {along} {groups} = {wide} ? {limit} / {body.lanes} : 0;",
                f"for ({along} {group} = {lane} % {_LANES}; {group} < {groups}; {group} += {_LANES}) {{",
                *moved([*each, *moved([*row, *body.lines(data, along, group, place, step, own)]), "}"]),
                "}",
                f"for ({rest}; {text_of(loop.condition)}; {loop.counter} += {_LANES}) {{",
                *moved([*each, *moved([*row, *dedented(data, body.statements, own)]), "}"]),
                "}",
                *exchanged(rows.row.reductions, parts, _LANES, lane, 1),
            ]
        ),
        "}",
    ]
    start = with_pragmas(loop.node).start_byte
    total = " ".join(f"{r.name} += {parts[r.name]}[0];" for r in rows.row.reductions)
    if outer.body.type != "compound_statement":
        raise Refusal("a loop over rows that is nothing but the loop along one keeps no sum")
    statements = outer.body.named_children
    old_before = [s for s in statements if s.end_byte <= start]
    old_after = [s for s in statements if s.start_byte >= loop.node.end_byte]
    own_work = [
        *(dedented(data, old_before, []) if old_before else []),
        total,
        *(dedented(data, old_after, []) if old_after else []),
    ]
    lines = ["{", *moved([*work, f"if ({text_of(outer.condition)}) {{", *moved(own_work), "}"]), "}"]
    test = bare(outer.condition)
    assert test is not None
    left = test.child_by_field_name("left")
    assert left is not None
    text = written_at(data, outer.node, lines, newline)
    return [
        insert_before(
            kernel,
            with_pragmas(outer.node).start_byte,
            f"const int {lane} = threadIdx.x % 32;{newline}{indent_at(data, outer.node.start_byte)}",
        ),
        replace_node(left, f"{outer.counter} - {lane}"),
        replace_between(kernel, outer.body.start_byte, outer.body.end_byte, text),
    ]
