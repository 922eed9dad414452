"""A row's work shared out: what one thread did for a row, the threads of a warp or of a block do together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from tree_sitter import Node

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import contains, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import differing_lines, edited, replace_node
from kernel_lineage.kernels.source import Kernel, Launch
from kernel_lineage.rewrite.assists.blocks_at_launch import (
    block_extents,
    change_blocks,
    extent_changed,
    laid_along_x,
    launches_of,
)
from kernel_lineage.rewrite.assists.counting_loops import counter_type
from kernel_lineage.rewrite.assists.element_work import (
    ElementWork,
    check_repeatable,
    only_declares,
    strided_work_of,
    work_of,
)
from kernel_lineage.rewrite.assists.lane_order import LaneOrder
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    descendants,
    edited_kernel,
    fresh_name,
    indent_at,
    indent_unit,
    insert_before,
    newline_of,
    replace_between,
    syntax_of,
    taken_name,
    with_pragmas,
)
from kernel_lineage.rewrite.assists.loop_over_grid import dropped, grid_loop
from kernel_lineage.rewrite.assists.model import MayOverlap, Refusal, attempt
from kernel_lineage.rewrite.assists.reductions import Reduction
from kernel_lineage.rewrite.assists.row_loops import RowLoop
from kernel_lineage.rewrite.assists.row_work import RowWork, check_changes_nothing
from kernel_lineage.rewrite.assists.rows_of_elements import with_rows_of_elements
from kernel_lineage.rewrite.assists.running_values import shared_running_value
from kernel_lineage.rewrite.assists.thread_work import thread_work_of
from kernel_lineage.rewrite.candidate import Edit
from kernel_lineage.skills.kernel_facts import constant
from kernel_lineage.workloads.constants import constants_of


@dataclass(frozen=True, slots=True)
class Sharers:
    """The threads that take a row together."""

    row: str
    """Which row a thread works on."""
    rows: str
    """How many rows the grid works on at once."""
    name: str
    """What a thread's number among them is called."""
    number: str
    count: str
    wait: str
    """What lets them wait for each other."""
    blocks: Callable[[Launch, str], str]
    """By what the blocks of a launch whose rows lie along an axis are multiplied."""
    in_block: bool = False
    """Whether they are more than a warp, and combine what their warps have in shared memory."""
    threads: int = 0
    """What a smaller block is enlarged to, where its size is written between `<<<` and `>>>`; 0: none is."""


def shared_out(kernel: Kernel, anchor: Anchor, sharers: Sharers) -> list[list[Edit]]:
    """The edits that share each row of a kernel out, its launches with it, in one way or in two: by its innermost
    loops, and by loops with others in them. Rows along y come to lie along x.

    A kernel that its own file does not launch takes row after row instead, in a loop over the grid, whatever that is.
    """
    form = with_rows_of_elements(kernel) if kernel.launches else _over_grid(kernel)
    if isinstance(form, Refusal) and anchor.bindings.get("y"):
        raise form
    read = kernel if isinstance(form, Refusal) else form
    axis = "y" if read is kernel and anchor.bindings.get("threads") == "blockDim.y" else "x"
    wholes = (False, True) if read is kernel or not kernel.launches else (False,)
    ways = [attempt(partial(_edits, read, axis, sharers, whole=whole)) for whole in wholes]
    made = [way for way in ways if not isinstance(way, Refusal)]
    if not made:
        raise next(
            w for w in sorted(ways, key=lambda w: not isinstance(w, MayOverlap)) if isinstance(w, Refusal)
        )
    if read is not kernel:
        before, after = data_of(kernel).decode(), [edited(data_of(read), edits).decode() for edits in made]
        made = [list(differing_lines(text, before)) for text in after]
    return made if made[0] != made[-1] else made[:1]


def _over_grid(kernel: Kernel) -> Kernel | Refusal:
    """The kernel as a loop over the rows of the whole grid, which is right for any launch; else why it is none."""
    syntax = syntax_of(kernel)
    if strided_work_of(kernel, syntax) is not None:
        return kernel
    work = attempt(lambda: work_of(kernel, syntax))
    if isinstance(work, Refusal):
        return work
    repeatable = attempt(lambda: check_repeatable(kernel, syntax, work))
    if isinstance(repeatable, Refusal):
        return repeatable
    return edited_kernel(kernel, grid_loop(kernel, syntax, work)) or Refusal(
        f"{kernel.name} over the grid does not parse"
    )


def _edits(kernel: Kernel, axis: str, sharers: Sharers, *, whole: bool = False) -> list[Edit]:
    shared = thread_work_of(kernel, over_grid=True, axis=axis, whole=whole)
    syntax, work, rows = shared.syntax, shared.work, shared.rows
    if not rows.loops:
        raise Refusal(f"{kernel.name} has no loop along its row")
    for statement in rows.once:
        check_changes_nothing(syntax, statement)
    # What is launched elsewhere is a loop over the grid by now.
    launched = kernel.launches if work.update is not None else launches_of(kernel)
    launches = [e for one in launched for e in _launched(kernel, one, sharers, axis)]
    return [
        *_row_index(kernel, syntax, work, sharers),
        *_shared_out(kernel, syntax, work, rows, sharers),
        *launches,
    ]


def _row_index(kernel: Kernel, syntax: CudaSyntax, work: ElementWork, sharers: Sharers) -> list[Edit]:
    data, node = data_of(kernel), work.index.node
    gap = newline_of(data) + indent_at(data, node.start_byte)
    own = f"const int {_own(syntax, sharers)} = {sharers.number};"
    if work.update is None:
        return [replace_node(work.start, sharers.row), insert_before(kernel, node.end_byte, gap + own)]
    gap = newline_of(data) + indent_at(data, work.guard.start_byte)
    return [
        insert_before(kernel, with_pragmas(work.guard).start_byte, own + gap),
        replace_node(work.start, sharers.row),
        replace_node(work.update, f"{work.index.name} += {sharers.rows}"),
        *(dropped(kernel, node) for node in _only_in(syntax, work.update)),
    ]


def _only_in(syntax: CudaSyntax, part: Node) -> Iterator[Node]:
    """The declarations of variables that nothing but a part of the kernel uses."""
    for one in syntax.entry.variables:
        uses = [
            n for n in descendants(syntax.entry.node) if n.type == "identifier" and text_of(n) == one.name
        ]
        alone = only_declares(one.node) and len(one.node.children_by_field_name("declarator")) == 1
        others = [n for n in uses if not contains(one.node, n)]
        if alone and others and all(contains(part, n) for n in others):
            yield one.node


def _own(syntax: CudaSyntax, sharers: Sharers) -> str:
    return fresh_name(sharers.name, identifiers_in(syntax.entry.node))


def _shared_out(
    kernel: Kernel, syntax: CudaSyntax, work: ElementWork, rows: RowWork, sharers: Sharers
) -> list[Edit]:
    data, own = data_of(kernel), _own(syntax, sharers)
    taken = identifiers_in(syntax.entry.node)
    order = LaneOrder(work.inner if work.update is None else [work.guard])
    edits: list[Edit] = []
    parts: list[RowLoop | list[Node]] = [*rows.loops, *_groups(data, rows.once)]
    for part in sorted(parts, key=lambda p: (p.loop.node if isinstance(p, RowLoop) else p[0]).start_byte):
        if isinstance(part, RowLoop):
            at = part.loop.node
            again = order.is_repeated(at)
            before, after = _combined(part.reductions, taken, indent_unit(kernel), sharers, again)
            waits = order.around(at, at) if part.writes else (False, False)
            if part.running is None:
                edits += _strided(part, own, sharers)
            else:
                counted = counter_type(syntax, part.loop)
                text = shared_running_value(
                    kernel, part.loop, part.running, counted, own, taken, sharers, down=part.down
                )
                edits.append(replace_node(at, text))
            wait = [sharers.wait]
            edits += _around(kernel, at, [*before, *wait * waits[0]], [*after, *wait * waits[1]])
        else:
            edits.append(_by_one(kernel, part, own, order.around(part[0], part[-1]), sharers))
    return edits


def _around(kernel: Kernel, loop: Node, before: list[str], after: list[str]) -> list[Edit]:
    data = data_of(kernel)
    gap = newline_of(data) + indent_at(data, loop.start_byte)
    edits = (
        [insert_before(kernel, with_pragmas(loop).start_byte, "".join(line + gap for line in before))]
        if before
        else []
    )
    return edits + (
        [insert_before(kernel, loop.end_byte, "".join(gap + line for line in after))] if after else []
    )


def _strided(row: RowLoop, own: str, sharers: Sharers) -> list[Edit]:
    loop, sign = row.loop, "-" if row.down else "+"
    assert loop.start is not None and loop.update is not None
    start = text_of(loop.start)
    return [
        replace_node(loop.start, own if start == "0" and not row.down else f"{start} {sign} {own}"),
        replace_node(loop.update, f"{loop.counter} {sign}= {sharers.count}"),
    ]


def _combined(
    reductions: tuple[Reduction, ...], taken: set[str], unit: str, sharers: Sharers, again: bool
) -> tuple[list[str], list[str]]:
    """What stands before a loop and after it, so that each thread has the whole row's result.

    `again`: a loop that all run together is around it, so that shared memory is written again.
    """
    if not reductions:
        return [], []
    before: list[str] = []
    after: list[str] = []
    for one in reductions:
        if one.operation == "+" and not one.from_zero:
            kept = taken_name(f"{one.name}_before", taken)
            before += [f"const {one.type} {kept} = {one.name};", f"{one.name} = 0;"]
            after.append(f"{one.name} += {kept};")
    offset = fresh_name("offset", taken)
    steps = [
        line
        for one in reductions
        for line in one.combined("__shfl_xor_sync(0xffffffffu, {}, %s)".__mod__(offset).format, taken)
    ]
    in_warp = [
        f"for (int {offset} = 16; {offset} > 0; {offset} /= 2) {{",
        *(unit + step for step in steps),
        "}",
    ]
    over_warps = _over_warps(reductions, taken, unit, sharers.wait, again) if sharers.in_block else []
    return before, [*in_warp, *over_warps, *after]


def _over_warps(
    reductions: tuple[Reduction, ...], taken: set[str], unit: str, wait: str, again: bool
) -> list[str]:
    """What combines the results of a block's warps in shared memory, each thread for itself in the same order."""
    kinds = {name: kind for one in reductions for name, kind in one.variables}
    parts = {name: fresh_name(f"{name}_of_warps", taken) for name in kinds}
    taken |= set(parts.values())
    warp = fresh_name("warp", taken)
    kept = " ".join(f"{part}[threadIdx.x / 32] = {name};" for name, part in parts.items())
    steps = [line for one in reductions for line in one.combined(lambda n: f"{parts[n]}[{warp}]", taken)]
    return [
        *(f"__shared__ {kinds[name]} {part}[32];" for name, part in parts.items()),
        f"if (threadIdx.x % 32 == 0) {{ {kept} }}",
        wait,
        *(f"{name} = {part}[0];" for name, part in parts.items()),
        f"for (int {warp} = 1; {warp} < (int)blockDim.x / 32; {warp}++) {{",
        *(unit + step for step in steps),
        "}",
        *([wait] if again else []),
    ]


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


def _by_one(kernel: Kernel, group: list[Node], own: str, waits: tuple[bool, bool], sharers: Sharers) -> Edit:
    data = data_of(kernel)
    first, last = group[0], group[-1]
    margin, unit, newline = indent_at(data, first.start_byte), indent_unit(kernel), newline_of(data)
    lines = [f"if ({own} == 0) {{ {text_of(first)} }}"]
    if len(group) > 1:
        inner = data[first.start_byte : last.end_byte].decode("utf-8", "replace").splitlines()
        moved = [margin + unit + inner[0], *(unit + line for line in inner[1:])]
        lines = [f"if ({own} == 0) {{", *moved, margin + "}"]
    if first.parent is not None and first.parent.type == "compound_statement":
        text = newline.join(lines)
        text = f"{sharers.wait}{newline}{margin}{text}" if waits[0] else text
        text = f"{text}{newline}{margin}{sharers.wait}" if waits[1] else text
    else:
        text = " ".join(["{", *[sharers.wait] * waits[0], *lines, *[sharers.wait] * waits[1], "}"])
    return replace_between(kernel, first.start_byte, last.end_byte, text)


def _launched(kernel: Kernel, launch: Launch, sharers: Sharers, axis: str) -> list[Edit]:
    """More blocks along x at a launch: one for each group of threads that takes a row."""
    threads = block_extents(kernel, launch)["xy".index(axis)]
    line = launch.span.first_line
    if threads is not None and threads % 32:
        raise Refusal(f"the {threads} threads of a block in line {line} are no whole warps")
    if axis == "y":
        return _turned(kernel, launch, sharers, threads)
    edits = [change_blocks(kernel, launch, f"{{}} * {sharers.blocks(launch, axis)}".format)]
    if threads is not None and threads < sharers.threads and "__launch_bounds__" not in kernel.text:
        larger = extent_changed(kernel, launch, "block", 0, lambda _: str(sharers.threads))
        if larger is not None and not _is_in_dim3(kernel, larger):
            edits.append(larger)
    return edits


def _turned(kernel: Kernel, launch: Launch, sharers: Sharers, threads: int | None) -> list[Edit]:
    """A launch whose blocks and threads along y come to lie along x, which has none beside them."""
    line = launch.span.first_line
    constants = {**constants_of(kernel), **launch.definitions}
    alone = [constant((*what, "")[0], constants) == 1 for what in (launch.grid, launch.block)]
    if threads is None or not all(alone):
        raise Refusal(f"the launch in line {line} has other threads along x, or does not tell how many")
    _, blocks, *_ = (*launch.grid, "1", "1")
    enough = threads if "__launch_bounds__" in kernel.text else max(threads, sharers.threads)
    grid = f"({blocks}) * {sharers.blocks(launch, 'y')}"
    return laid_along_x(kernel, launch, grid, str(enough))


def _is_in_dim3(kernel: Kernel, edit: Edit) -> bool:
    """Whether an extent stands in a `dim3`, whose members the grid's expression may use."""
    return b"<<<" not in data_of(kernel)[: edit.span.start].rpartition(b";")[2]
