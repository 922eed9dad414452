"""The work on a column in steps: loops down it that threads share out, and what stands between them.

What changes nothing but a thread's own variables can be done by every thread, and again before each later step: no
variable has to live from one barrier to the next. What writes memory is done once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import (
    Variable,
    contains,
    operator_of,
    text_of,
    variable_of,
)
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.element_work import ElementWork
from kernel_lineage.rewrite.assists.layout import descendants
from kernel_lineage.rewrite.assists.loop_changes import changed_between, promised_apart, written_by_calls
from kernel_lineage.rewrite.assists.model import MayOverlap, Refusal
from kernel_lineage.rewrite.assists.row_loops import RowLoop
from kernel_lineage.rewrite.assists.row_work import check_changes_nothing
from kernel_lineage.rewrite.assists.thread_work import ThreadWork
from kernel_lineage.rewrite.assists.unrolling import asks_to_unroll


@dataclass(frozen=True, slots=True)
class Step:
    """Statements that follow each other: one loop to share out, or what every thread does, or one does alone."""

    nodes: tuple[Node, ...]
    loop: RowLoop | None = None
    once: bool = False
    """They write memory, and change no variable."""

    @property
    def writes(self) -> bool:
        """Whether it writes memory."""
        return self.once or (self.loop is not None and self.loop.writes)


@dataclass(frozen=True, slots=True)
class ColumnSteps:
    """The work on a column."""

    outside: tuple[Node, ...]
    """Declarations in front of the work whose variables it changes; each step begins with them."""
    steps: tuple[Step, ...]
    """All up to the last loop, which is the last of them."""
    tail: tuple[Node, ...]
    """What stands behind that loop."""
    moved: tuple[Node, ...]
    """Those of the declarations outside that nothing but the work needs."""

    @property
    def loops(self) -> tuple[RowLoop, ...]:
        """The loops, in their order."""
        return tuple(s.loop for s in self.steps if s.loop is not None)


def column_steps(kernel: Kernel, shared: ThreadWork) -> ColumnSteps:
    """The steps of the work on a column, of which at least one loop combines values; else why there are none.

    Raises `MayOverlap` where only a promise lacks that what is read again is not what is written.
    """
    syntax, work, rows = shared.syntax, shared.work, shared.rows
    loops = {one.loop.node: one for one in rows.loops}
    beside = loops and all(node in work.inner for node in loops)
    if not beside or any(one.running is not None for one in rows.loops) or not _combines(rows.loops):
        raise Refusal(f"{kernel.name} does not go down its column in loops that only combine values")
    if work.returns:
        raise Refusal(f"`{text_of(work.returns[0])}` leaves before all warps have added up")
    last = max(n for n, s in enumerate(work.inner) if s in loops)
    steps: list[Step] = []
    for statement, behind in zip(work.inner[: last + 1], [*work.inner[1:], None], strict=False):
        if statement in loops:
            steps.append(Step((statement,), loops[statement]))
        elif not (asks_to_unroll(statement) and behind in loops):  # The loop gets one of its own.
            once = any(contains(statement, n) for n in rows.once)
            if once:
                check_changes_nothing(syntax, statement)
            if steps and steps[-1].loop is None and steps[-1].once == once:
                steps[-1] = Step((*steps[-1].nodes, statement), None, once)
            else:
                steps.append(Step((statement,), None, once))
    outside = tuple(dict.fromkeys(v.node for v in _changed_outside(kernel, syntax, work)))
    _check_read_again(syntax, steps, outside)
    moved = tuple(n for n in outside if n not in work.before and _only_for(syntax, work, n))
    return ColumnSteps(outside, tuple(steps), tuple(work.inner[last + 1 :]), moved)


def _only_for(syntax: CudaSyntax, work: ElementWork, declaration: Node) -> bool:
    """Whether nothing but the work uses what a declaration declares."""
    names = {v.name for v in syntax.entry.variables if v.node == declaration}
    used = (n for n in descendants(syntax.entry.node) if n.type == "identifier" and text_of(n) in names)
    return all(contains(declaration, n) or n.start_byte >= work.inner[0].start_byte for n in used)


def _combines(loops: list[RowLoop]) -> bool:
    """Whether a loop combines values, and the others do or write; a loop that does neither is not known."""
    return any(one.reductions for one in loops) and all(one.reductions or one.writes for one in loops)


def _changed_outside(kernel: Kernel, syntax: CudaSyntax, work: ElementWork) -> Iterator[Variable]:
    """The variables that the work changes and that are declared before it."""
    begin, end = work.inner[0].start_byte, work.inner[-1].end_byte
    changed = changed_between(syntax, begin, end)
    outer = [v for v in syntax.entry.variables if v.name in changed and v.start < begin]
    names = [v.name for v in outer]
    handed_out = {
        variable_of(n.child_by_field_name("argument"))
        for n in descendants(syntax.entry.node)
        if n.type == "pointer_expression" and operator_of(n) == "&"
    }
    shared = {p.name for p in kernel.parameters} & changed
    if shared or work.index.name in changed or handed_out & set(names):
        name = min(shared or handed_out & set(names) or {work.index.name})
        raise Refusal(f"`{name}` is changed on the way, and each step begins anew")
    yield from outer


def _check_read_again(syntax: CudaSyntax, steps: list[Step], outside: tuple[Node, ...]) -> None:
    """Refuse what every thread reads before each step, where a step may write that meanwhile."""
    accesses = [a for a in indexing(syntax.entry).accesses if a.space != "local"]
    again = [*outside, *(n for s in steps if s.loop is None and not s.once for n in s.nodes)]
    writing = [n for s in steps if s.writes for n in s.nodes]
    read = {a.root: a.node for a in accesses if a.reads and any(contains(n, a.node) for n in again)}
    for node in (n for part in again for n in descendants(part) if n.type == "field_expression"):
        if any(c.type == "->" for c in node.children):
            read[text_of(node.child_by_field_name("argument"))] = node
    written = {a.root for a in accesses if a.writes and any(contains(n, a.node) for n in writing)}
    for node in writing:
        written |= written_by_calls(syntax, node.start_byte, node.end_byte).keys()
    for root, place in read.items():
        other = next((w for w in sorted(written) if not promised_apart(syntax, root, w)), None)
        if other is not None:
            kind = Refusal if other == root else MayOverlap
            raise kind(
                f"`{text_of(place)}` is read again before each step, and a step writes `{other}`, "
                "where both may lie in one buffer"
            )
