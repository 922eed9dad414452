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

Sums, maxima and minima are combined in another order. Anything else that goes from row to row is refused.
"""

from __future__ import annotations

import re
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
from kernel_lineage.rewrite.assists.element_work import ElementWork
from kernel_lineage.rewrite.assists.hidden_reads import check_hidden_reads
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    fresh_name,
    indent_at,
    indent_unit,
    insert_before,
    newline_of,
    replace_between,
)
from kernel_lineage.rewrite.assists.model import Assist, Refusal, attempt
from kernel_lineage.rewrite.assists.row_loops import RowLoop
from kernel_lineage.rewrite.assists.thread_work import thread_work_of
from kernel_lineage.rewrite.assists.unrolling import asks_to_unroll, rounds_under_way
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
_OF_BLOCKS = re.compile(r"blockIdx|gridDim")


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    shared = thread_work_of(kernel)
    syntax, work, rows = shared.syntax, shared.work, shared.rows
    loop = rows.loops[0] if len(rows.loops) == 1 else None
    if loop is None or loop.loop.node not in work.inner or loop.writes or not loop.reductions:
        raise Refusal(f"{kernel.name} does not go down its column in one loop that only combines values")
    if loop.loop.start is None or not contains(loop.loop.node, loop.loop.start):
        raise Refusal(f"`{loop.loop.counter}` begins outside of the head of its loop")
    accesses = [a for a in indexing(syntax.entry).accesses if contains(loop.loop.node, a.node)]
    if not any(a.space == "global" and a.index.get("x") == 1 for a in accesses):
        raise Refusal("neighbouring threads do not read neighbouring columns")
    position = work.inner.index(loop.loop.node)
    before, behind = work.inner[:position], work.inner[position + 1 :]
    if before and asks_to_unroll(before[-1]):
        before.pop()  # The loop gets one of its own.
    declares = [s for s in before if s.type in ("declaration", "comment")]
    if len(declares) != len(before) or work.before:
        raise Refusal(
            f"what stands before the loop in line {loop.loop.node.start_point.row + 1} does more than declare"
        )
    if work.returns:
        raise Refusal(f"`{text_of(work.returns[0])}` leaves before all warps have added up")
    made: list[Candidate] = []
    added = _only_adds(kernel, syntax, loop, behind)
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
            [*_shared_out(kernel, syntax, work, loop, (before, behind), columns, tail), *launches],
            explanation=f"{blocks}; {order}.",
        )
        made.append(candidate)
    return replace(made[0], alternatives=tuple(made[1:]))


def _only_adds(kernel: Kernel, syntax: CudaSyntax, loop: RowLoop, behind: list[Node]) -> str | None:
    """The atomic addition that does what stands behind the loop, where that is one `out[col] += sum;` and nothing else
    in the kernel touches `out` or tells one block from another; None where it is not.
    """
    work = [s for s in behind if s.type != "comment"]
    addition = (
        work[0].named_children[0] if len(work) == 1 and work[0].type == "expression_statement" else None
    )
    if addition is None or addition.type != "assignment_expression" or len(loop.reductions) != 1:
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
    shared: RowLoop,
    around: tuple[list[Node], list[Node]],
    columns: int,
    added: str | None,
) -> list[Edit]:
    """The edits of the kernel; `added` takes the place of what stands behind the loop, and blocks share the rows."""
    loop = shared.loop
    assert loop.start is not None and loop.update is not None
    data, unit = data_of(kernel), indent_unit(kernel)
    margin, newline = indent_at(data, work.first), newline_of(data)
    taken = identifiers_in(syntax.entry.node)
    lane, group, part = (fresh_name(n, taken) for n in ("lane", "group", "part"))
    groups = _THREADS // columns
    kinds = {name: kind for r in shared.reductions for name, kind in r.variables}
    parts = {name: fresh_name(f"{name}_parts", taken) for name in kinds}
    test = f"{work.index.name} < {text_of(work.bound)}"
    before, behind = around
    declared = _lines(data, before)
    start = text_of(loop.start)
    strided = data[loop.node.start_byte : loop.node.end_byte].decode("utf-8", "replace")
    step, first_row = f"{groups}", group
    if added is not None:
        step, first_row = f"{groups} * (int)gridDim.y", f"(int)blockIdx.y * {groups} + {group}"
    strided = _replaced(strided, loop.node, loop.update, f"{loop.counter} += {step}")
    strided = _replaced(
        strided, loop.node, loop.start, first_row if start == "0" else f"{start} + {first_row}"
    )
    first = [
        *declared,
        *(f"{r.name} = 0;" for r in shared.reductions if r.operation == "+" and not r.from_zero),
        f"#pragma unroll {rounds_under_way(kernel, syntax, loop.node)}",
        *_dedented(strided, indent_at(data, loop.node.start_byte)),
        *(f"{kept}[{group}][{lane}] = {name};" for name, kept in parts.items()),
    ]
    combined = [f"for (int {part} = 0; {part} < {groups}; {part}++) {{"]
    for r in shared.reductions:
        steps = r.combined(lambda name: f"{parts[name]}[{part}][{lane}]", taken)
        combined += [unit + line for line in steps]
    tail = data[loop.node.end_byte : behind[-1].end_byte].decode("utf-8", "replace") if behind else ""
    tail = tail if added is None else added
    last = [*declared, *combined, "}", *_dedented(tail.strip(), indent_at(data, loop.node.start_byte))]
    lines = [
        *(f"__shared__ {kinds[name]} {kept}[{groups}][{columns}];" for name, kept in parts.items()),
        f"if ({test}) {{",
        *(unit + line if line else "" for line in first),
        "}",
        "__syncthreads();",
        f"if ({group} == 0 && {test}) {{",
        *(unit + line if line else "" for line in last),
        "}",
    ]
    node = work.index.node
    gap = newline + indent_at(data, node.start_byte)
    names = f"const int {lane} = threadIdx.x % {columns}, {group} = threadIdx.x / {columns};"
    text = newline.join([lines[0], *(margin + line if line else "" for line in lines[1:])])
    return [
        replace_node(work.start, f"blockIdx.x * {columns} + threadIdx.x % {columns}"),
        insert_before(kernel, node.end_byte, gap + names),
        replace_between(kernel, work.first, work.end, text),
    ]


def _replaced(text: str, whole: Node, part: Node, new: str) -> str:
    begin, end = part.start_byte - whole.start_byte, part.end_byte - whole.start_byte
    raw = text.encode()
    return (raw[:begin] + new.encode() + raw[end:]).decode()


def _lines(data: bytes, nodes: list[Node]) -> list[str]:
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
