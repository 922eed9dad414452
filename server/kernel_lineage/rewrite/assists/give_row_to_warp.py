"""Give each row to a warp instead of one thread: its lanes take every 32nd element, and shuffles combine them.

Before: `int row = blockIdx.x * blockDim.x + threadIdx.x;` and `for (int i = 0; i < C; i++) { sum += x[row * C + i]; }`.
After: `row` counts warps, the loop goes `for (int i = lane; i < C; i += 32)`, shuffles leave the sum in
every lane, and what is written once for a row is written by lane 0. Each launch gets 32 times its blocks.

Sums, maxima and minima are combined in another order. Refused is a row that carries anything else from element to
element, and whatever lets one lane see what another has yet to write.
"""

from __future__ import annotations

from tree_sitter import Node

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_forms import Loop, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import replace_node
from kernel_lineage.kernels.source import Kernel, Span
from kernel_lineage.rewrite.assists.blocks_at_launch import blocks_changed
from kernel_lineage.rewrite.assists.element_work import ElementWork
from kernel_lineage.rewrite.assists.lane_order import LaneOrder
from kernel_lineage.rewrite.assists.layout import (
    fresh_name,
    identifiers_in,
    indent_at,
    indent_unit,
    newline_of,
)
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.assists.row_loops import Reduction, RowLoop
from kernel_lineage.rewrite.assists.row_work import RowWork
from kernel_lineage.rewrite.assists.thread_work import thread_work_of
from kernel_lineage.rewrite.assists.warp_row_examples import APPLIES, REFUSES
from kernel_lineage.rewrite.candidate import Candidate, Edit
from kernel_lineage.skills.kernel_facts import constant
from kernel_lineage.workloads.constants import constants_of

_WAIT = "__syncwarp();"


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate | Refusal:
    shared = thread_work_of(kernel)
    if isinstance(shared, Refusal):
        return shared
    syntax, work, rows = shared.syntax, shared.work, shared.rows
    if not rows.loops:
        return Refusal(f"{kernel.name} has no loop along its row")
    launches = _launches(kernel)
    if isinstance(launches, Refusal):
        return launches
    return ASSIST.candidate(
        kernel,
        [*_row_index(kernel, syntax, work), *_shared_out(kernel, syntax, work, rows), *launches],
        explanation="A warp takes each row, the grid has 32 times its blocks; a sum is rounded in another order.",
    )


def _row_index(kernel: Kernel, syntax: CudaSyntax, work: ElementWork) -> list[Edit]:
    assert kernel.source is not None
    data, node = kernel.source.data, work.index.node
    gap = newline_of(data) + indent_at(data, node.start_byte)
    lane = _lane(syntax)
    return [
        replace_node(work.start, "blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32"),
        _insert(data, node.end_byte, f"{gap}const int {lane} = threadIdx.x % 32;"),
    ]


def _lane(syntax: CudaSyntax) -> str:
    return fresh_name("lane", identifiers_in(syntax.entry.node))


def _shared_out(kernel: Kernel, syntax: CudaSyntax, work: ElementWork, found: RowWork) -> list[Edit]:
    assert kernel.source is not None
    data, lane = kernel.source.data, _lane(syntax)
    taken = identifiers_in(syntax.entry.node)
    order = LaneOrder(work.inner)
    edits: list[Edit] = []
    parts: list[RowLoop | list[Node]] = [*found.loops, *_groups(data, found.once)]
    for part in sorted(parts, key=lambda p: (p.loop.node if isinstance(p, RowLoop) else p[0]).start_byte):
        if isinstance(part, RowLoop):
            at = part.loop.node
            before, after = _combined(part.reductions, taken, indent_unit(kernel))
            waits = order.around(at, at) if part.writes else (False, False)
            edits += _strided(part.loop, lane)
            edits += _around(data, at, [*before, *[_WAIT] * waits[0]], [*after, *[_WAIT] * waits[1]])
        else:
            edits.append(_by_one_lane(kernel, part, lane, order.around(part[0], part[-1])))
    return edits


def _around(data: bytes, loop: Node, before: list[str], after: list[str]) -> list[Edit]:
    gap = newline_of(data) + indent_at(data, loop.start_byte)
    first = loop
    while first.prev_sibling is not None and first.prev_sibling.type.startswith("preproc"):
        first = first.prev_sibling  # nothing may stand between a loop and its #pragma
    edits = [_insert(data, first.start_byte, "".join(line + gap for line in before))] if before else []
    return edits + ([_insert(data, loop.end_byte, "".join(gap + line for line in after))] if after else [])


def _strided(loop: Loop, lane: str) -> list[Edit]:
    assert loop.start is not None and loop.update is not None
    start = text_of(loop.start)
    return [
        replace_node(loop.start, lane if start == "0" else f"{start} + {lane}"),
        replace_node(loop.update, f"{loop.counter} += 32"),
    ]


def _combined(reductions: tuple[Reduction, ...], taken: set[str], unit: str) -> tuple[list[str], list[str]]:
    """What stands before a loop and after it, so that each lane has the whole row's result."""
    before: list[str] = []
    steps: list[str] = []
    after: list[str] = []
    offset = fresh_name("offset", taken)
    for one in reductions:
        value = f"__shfl_xor_sync(0xffffffffu, {one.name}, {offset})"
        if one.operation == "+":
            steps.append(f"{one.name} += {value};")
            if not one.from_zero:
                kept = fresh_name(f"{one.name}_before", taken)
                before += [f"const {one.type} {kept} = {one.name};", f"{one.name} = 0;"]
                after.append(f"{one.name} += {kept};")
        elif one.operation in (">", "<"):
            other = fresh_name(f"other_{one.name}", taken)
            steps.append(f"const {one.type} {other} = {value};")
            steps.append(f"if ({other} {one.operation} {one.name}) {{ {one.name} = {other}; }}")
        else:
            steps.append(f"{one.name} = {one.operation}({one.name}, {value});")
    if not steps:
        return before, after
    head = f"for (int {offset} = 16; {offset} > 0; {offset} /= 2) {{"
    return before, [head, *(unit + step for step in steps), "}", *after]


def _groups(data: bytes, statements: list[Node]) -> list[list[Node]]:
    """Statements that follow each other, with nothing but blanks between."""
    groups: list[list[Node]] = []
    for node in statements:
        last = groups[-1][-1] if groups else None
        if (
            last is not None
            and last.parent == node.parent
            and not data[last.end_byte : node.start_byte].strip()
        ):
            groups[-1].append(node)
        else:
            groups.append([node])
    return groups


def _by_one_lane(kernel: Kernel, group: list[Node], lane: str, waits: tuple[bool, bool]) -> Edit:
    assert kernel.source is not None
    data = kernel.source.data
    first, last = group[0], group[-1]
    margin, unit, newline = indent_at(data, first.start_byte), indent_unit(kernel), newline_of(data)
    lines = [f"if ({lane} == 0) {{ {text_of(first)} }}"]
    if len(group) > 1:
        inner = data[first.start_byte : last.end_byte].decode("utf-8", "replace").splitlines()
        moved = [margin + unit + inner[0], *(unit + line for line in inner[1:])]
        lines = [f"if ({lane} == 0) {{", *moved, margin + "}"]
    if first.parent is not None and first.parent.type == "compound_statement":
        text = newline.join(lines)
        text = f"{_WAIT}{newline}{margin}{text}" if waits[0] else text
        text = f"{text}{newline}{margin}{_WAIT}" if waits[1] else text
    else:
        text = " ".join(["{", *[_WAIT] * waits[0], *lines, *[_WAIT] * waits[1], "}"])
    return Edit(
        Span(first.start_byte, last.end_byte, first.start_point.row + 1, last.end_point.row + 1), text
    )


def _launches(kernel: Kernel) -> list[Edit] | Refusal:
    """32 times the blocks along x at every launch."""
    if not kernel.launches:
        return Refusal(f"{kernel.name} is not launched in this file, and its launch has to change with it")
    edits: list[Edit] = []
    for launch in kernel.launches:
        threads = (
            constant(launch.block[0], {**constants_of(kernel), **launch.definitions})
            if launch.block
            else None
        )
        line = launch.span.first_line
        if threads is not None and threads % 32:
            return Refusal(f"the {threads} threads of a block in line {line} are no whole warps")
        edit = blocks_changed(kernel, launch, lambda blocks: f"{blocks} * 32")
        if edit is None:
            return Refusal(f"the grid in line {line} is not written at the launch; write it into <<<…>>>")
        edits.append(edit)
    return edits


def _insert(data: bytes, at: int, text: str) -> Edit:
    line = data.count(b"\n", 0, at) + 1
    return Edit(Span(at, at, line, line), text)


ASSIST = Assist(
    id="give_row_to_warp",
    title="Give a row to a warp",
    skill="warp-per-row",
    pattern="row_per_thread",
    rewrite=_rewrite,
    applies=APPLIES,
    refuses=REFUSES,
)
