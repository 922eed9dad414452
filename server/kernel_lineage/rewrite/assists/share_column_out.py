"""Share each column out to the threads of a block: 16 of them stand side by side, each such group takes rows in turn.

Before:
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col < cols) { float sum = 0; for (int r = 0; r < rows; r++) { sum += x[r * cols + col]; } out[col] = sum; }
After: a block has 16 columns, its 64 groups of 16 threads sum rows in turn, and the first one adds up what the groups
have left in shared memory. Each launch gets blocks of 1024 threads, one for each 16 columns. Where there are few
columns, nearly all of a device was idle before; 16 elements of two bytes still fill a sector. The loop is unrolled so
far that a thread has 32 bytes under way, for there are too few threads to hide a load's latency with one element each.
The candidate's alternatives take 32 or 8 columns. Where all that a column leaves behind is `out[col] += sum;`, others
split the rows over the grid's y as well, and each block adds its part by an atomic addition.

Where a thread goes down its column several times (a mean, and then a variance around it), each loop is shared out: the
block waits behind it, and every thread combines what the groups have left, and works out again what stands before. What
is written on the way is written by the first group, in a step of its own. A loop that only writes its rows is shared
out, too.

Sums, maxima and minima are combined in another order. Anything else that goes from row to row is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tree_sitter import Node

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import contains, operator_of, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import replace_node
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.blocks_at_launch import (
    blocks_changed,
    extent_changed,
    launches_of,
    whole_warps,
)
from kernel_lineage.rewrite.assists.column_steps import ColumnSteps, column_steps
from kernel_lineage.rewrite.assists.element_work import ElementWork
from kernel_lineage.rewrite.assists.hidden_reads import check_hidden_reads
from kernel_lineage.rewrite.assists.layout import (
    begins_line,
    data_of,
    dedented,
    fresh_name,
    indent_at,
    indent_unit,
    insert_before,
    newline_of,
    replace_between,
    start_of_line,
    with_pragmas,
)
from kernel_lineage.rewrite.assists.model import Assist, Refusal, attempt
from kernel_lineage.rewrite.assists.row_loops import RowLoop
from kernel_lineage.rewrite.assists.thread_work import thread_work_of
from kernel_lineage.rewrite.assists.unrolling import rounds_under_way
from kernel_lineage.rewrite.candidate import Candidate, Edit
from kernel_lineage.rewrite.launch_site import configuration

_THREADS = 1024
"""The size of a block, and the most that it can be."""
_COLUMNS = (16, 32, 8)
"""Columns of a block: fewer make more blocks, more fill the sectors that are read."""
_SPLIT = ((16, 8), (32, 32))
"""Columns of a block, and blocks that go down the same columns."""
_ATOMIC = {
    "float": "float32",
    "double": "float64",
    "int": "int32",
    "unsigned": "uint32",
    "unsigned int": "uint32",
}
_BYTES = {"int": 4, "unsigned": 4, "unsigned int": 4, "float": 4}
"""Sizes of what is combined; eight bytes for all other types."""
_SHARED = 48 * 1024
"""Bytes of shared memory that a kernel can declare."""
_OF_BLOCKS = re.compile(r"blockIdx|gridDim")


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    shared = thread_work_of(kernel, columns=True)
    syntax, work = shared.syntax, shared.work
    column = column_steps(kernel, shared)
    nodes = [one.loop.node for one in column.loops]
    accesses = [a for a in indexing(syntax.entry).accesses if any(contains(n, a.node) for n in nodes)]
    if not any(a.space == "global" and a.index.get("x") == 1 for a in accesses):
        raise Refusal("neighbouring threads do not read neighbouring columns")
    kept = sum(_BYTES.get(kind, 8) for one in column.loops for r in one.reductions for _, kind in r.variables)
    if kept * _THREADS > _SHARED:
        raise Refusal(
            f"{kept * _THREADS} bytes are combined in a block, more than shared memory of fixed size"
        )
    made: list[Candidate] = []
    added = _only_adds(kernel, syntax, column)
    for columns, split in (*((c, 1) for c in _COLUMNS), *(_SPLIT if added is not None else ())):
        launches = attempt(partial(_launches, kernel, columns, split))
        if isinstance(launches, Refusal):
            if split == 1:
                raise launches
            continue
        tail = added if split > 1 else None
        blocks = f"Blocks of {_THREADS} threads take {columns} columns each"
        order = "a sum is rounded in another order"
        if tail is not None:
            blocks += f", {split} of them down each column"
            order += ", which differs from run to run"
        candidate = ASSIST.candidate(
            kernel,
            [*_shared_out(kernel, syntax, work, column, columns, tail), *launches],
            explanation=f"{blocks}; {order}.",
        )
        made.append(candidate)
    return replace(made[0], alternatives=tuple(made[1:]))


def _only_adds(kernel: Kernel, syntax: CudaSyntax, column: ColumnSteps) -> str | None:
    """The atomic addition that does what stands behind the only loop, where that is one `out[col] += sum;` and nothing
    else in the kernel touches `out` or tells one block from another; None where it is not.
    """
    tail = column.tail
    addition = (
        tail[0].named_children[0] if len(tail) == 1 and tail[0].type == "expression_statement" else None
    )
    if addition is None or addition.type != "assignment_expression" or len(column.loops) != 1:
        return None
    (loop,) = column.loops
    if len(loop.reductions) != 1 or any(s.writes for s in column.steps):
        return None
    place, value = (addition.child_by_field_name(side) for side in ("left", "right"))
    (total,) = loop.reductions
    if place is None or value is None or operator_of(addition) != "+=" or text_of(value) != total.name:
        return None
    accesses = indexing(syntax.entry).accesses
    root = indexing(syntax.entry).place(place).root
    parameter = kernel.parameter(root)
    summed = (total.operation, total.from_zero) == ("+", True) and place.type == "subscript_expression"
    if not summed or parameter is None or parameter.dtype != _ATOMIC.get(total.type):
        return None
    elsewhere = any(a.root == root and not contains(addition, a.node) for a in accesses)
    if elsewhere or len(_OF_BLOCKS.findall(text_of(syntax.entry.node))) > 1:
        return None
    if isinstance(attempt(lambda: check_hidden_reads(kernel, syntax, _OF_BLOCKS, "its block")), Refusal):
        return None
    return f"atomicAdd(&{text_of(place)}, {total.name});"


def _shared_out(
    kernel: Kernel,
    syntax: CudaSyntax,
    work: ElementWork,
    column: ColumnSteps,
    columns: int,
    added: str | None,
) -> list[Edit]:
    """The edits of the kernel; `added` takes the place of what stands behind the loop, and blocks share the rows."""
    data, unit = data_of(kernel), indent_unit(kernel)
    margin, newline = indent_at(data, work.first), newline_of(data)
    taken = identifiers_in(syntax.entry.node)
    lane, group, part = (fresh_name(n, taken) for n in ("lane", "group", "part"))
    taken |= {lane, group, part}
    groups = _THREADS // columns
    step, first_row = f"{groups}", group
    if added is not None:
        step, first_row = f"{groups} * (int)gridDim.y", f"(int)blockIdx.y * {groups} + {group}"
        first_row = f"({first_row})" if column.loops[0].down else first_row
    test = f"{work.index.name} < {text_of(work.bound)}"
    kept: list[str] = []
    again = [" ".join(text_of(n).split()) for n in column.outside]
    stages: list[list[str]] = []

    def stage(inside: str, act: list[str]) -> list[str]:
        return [f"if ({inside}) {{", *(unit + line if line else "" for line in [*again, *act]), "}"]

    for one in column.steps:
        if one.loop is None:
            if one.once:
                stages.append(stage(f"{group} == 0 && {test}", _lines(data, one.nodes)))
            else:
                again += _lines(data, one.nodes)
            continue
        kinds = {name: kind for r in one.loop.reductions for name, kind in r.variables}
        parts = {name: fresh_name(f"{name}_parts", taken) for name in kinds}
        taken |= set(parts.values())
        kept += [f"__shared__ {kinds[name]} {array}[{groups}][{columns}];" for name, array in parts.items()]
        rounds = rounds_under_way(kernel, syntax, one.nodes[0])
        act = [
            *(f"{r.name} = 0;" for r in one.loop.reductions if r.operation == "+" and not r.from_zero),
            *_comments(data, one.nodes[0]),
            *_strided(data, one.loop, first_row, step, f"#pragma unroll {rounds}"),
            *(f"{array}[{group}][{lane}] = {name};" for name, array in parts.items()),
        ]
        stages.append(stage(test, act))
        left = {name: f"{array}[{part}][{lane}]" for name, array in parts.items()}
        steps = [line for r in one.loop.reductions for line in r.combined(left.__getitem__, taken)]
        if steps:
            head = f"for (int {part} = 0; {part} < {groups}; {part}++) {{"
            again += [head, *(unit + line for line in steps), "}"]
    last = column.steps[-1].nodes[0]
    tail = data[last.end_byte : column.tail[-1].end_byte].decode("utf-8", "replace") if column.tail else ""
    tail = (tail if added is None else added).strip()
    if tail:
        stages.append(stage(f"{group} == 0 && {test}", _dedented(tail, indent_at(data, last.start_byte))))
    lines = [*_lines(data, work.before), *kept]
    for number, one_stage in enumerate(stages):
        lines += ["__syncthreads();"] * (number > 0) + one_stage
    node = work.index.node
    gap = newline + indent_at(data, node.start_byte)
    names = f"const int {lane} = threadIdx.x % {columns}, {group} = threadIdx.x / {columns};"
    text = newline.join([lines[0], *(margin + line if line else "" for line in lines[1:])])
    return [
        replace_node(work.start, f"blockIdx.x * {columns} + threadIdx.x % {columns}"),
        insert_before(kernel, node.end_byte, gap + names),
        replace_between(kernel, work.first, work.end, text),
        *(replace_between(kernel, *_line_of(data, n), "") for n in column.moved),
    ]


def _line_of(data: bytes, statement: Node) -> tuple[int, int]:
    """From where to where a statement is: the whole of its lines, where nothing else stands there."""
    begin, end = statement.start_byte, data.find(b"\n", statement.end_byte) + 1
    alone = begins_line(data, begin) and not data[statement.end_byte : end].strip()
    return (start_of_line(data, begin), end) if alone else (begin, statement.end_byte)


def _strided(data: bytes, row: RowLoop, first: str, step: str, asked: str) -> list[str]:
    """The lines of a loop of which a group takes the row `first` behind the start, and then each so-manieth row.

    `asked`: what the compiler is asked to do with it.
    """
    loop, sign = row.loop, "-" if row.down else "+"
    assert loop.start is not None and loop.update is not None
    start = text_of(loop.start)
    if loop.start.type not in ("identifier", "number_literal"):
        start = f"({start})"
    begin = first if start == "0" and not row.down else f"{start} {sign} {first}"
    changes = [(loop.update, f"{loop.counter} {sign}= {step}")]
    if contains(loop.node, loop.start):
        return [asked, *dedented(data, [loop.node], [(loop.start, begin), *changes])]
    return [f"{loop.counter} = {begin};", asked, *dedented(data, [loop.node], changes)]


def _comments(data: bytes, loop: Node) -> list[str]:
    """The comments that stand on lines of their own right before a loop."""
    lines: list[str] = []
    node = with_pragmas(loop).prev_sibling
    while node is not None and node.type == "comment" and begins_line(data, node.start_byte):
        lines = _lines(data, [node]) + lines
        node = node.prev_sibling
    return lines


def _lines(data: bytes, nodes: Sequence[Node]) -> list[str]:
    """The lines of statements that follow each other, with the comments between them, moved to the left."""
    if not nodes:
        return []
    text = data[nodes[0].start_byte : nodes[-1].end_byte].decode("utf-8", "replace")
    return _dedented(text, indent_at(data, nodes[0].start_byte))


def _dedented(text: str, margin: str) -> list[str]:
    return [line.removeprefix(margin) for line in text.splitlines()]


def _launches(kernel: Kernel, columns: int, split: int) -> list[Edit]:
    """At every launch so many blocks for each so many columns, of `_THREADS` threads."""
    if "launch_bounds" in kernel.attributes:
        raise Refusal(f"{kernel.name} has launch bounds, which tell the size of its blocks")
    edits: list[Edit] = []
    for launch in launches_of(kernel):
        line = launch.span.first_line
        factor = whole_warps(kernel, launch) // columns
        text = f"{{}} * {factor}" if split == 1 else f"dim3({{}} * {factor}, {split})"
        grid = blocks_changed(kernel, launch, text.format)
        if split > 1 and (grid is None or grid.span != configuration(kernel, launch)[0].span):
            raise Refusal(f"the grid in line {line} is a dim3, whose y is taken")
        block = extent_changed(kernel, launch, "block", 0, lambda _: str(_THREADS))
        if grid is None or block is None or re.search(r"\bblock\b|blockDim", grid.text):
            raise Refusal(f"the grid in line {line} is not written at the launch; write it into <<<…>>>")
        edits += [grid, block]
    return [insert_before(kernel, kernel.name_span.start, f"__launch_bounds__({_THREADS}) "), *edits]


ASSIST = Assist(
    title="Share a column out to the warps of a block",
    skill="columns-by-warps",
    pattern="column_per_thread",
    make=_rewrite,
)
