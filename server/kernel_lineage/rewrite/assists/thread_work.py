"""The work of one thread that several threads are to share: its statements, and its loops along a row or a column."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import contains, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax, Unit
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.element_work import ElementWork, strided_work_of, work_of
from kernel_lineage.rewrite.assists.hidden_reads import check_hidden_reads
from kernel_lineage.rewrite.assists.layout import descendants, syntax_of
from kernel_lineage.rewrite.assists.loop_changes import only_gives_a_value
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.row_work import RowWork, row_work

_THREAD = re.compile(r"\bthreadIdx\b")
_BLOCK = re.compile(r"\bblockDim\b")
_OF_THE_GRID = {"threadIdx", "blockIdx", "blockDim", "gridDim"}
_HIDDEN = re.compile(r"threadIdx|blockDim|warpSize")


@dataclass(frozen=True, slots=True)
class ThreadWork:
    """What one thread does, where several can stand in its place."""

    syntax: CudaSyntax
    work: ElementWork
    rows: RowWork


def thread_work_of(
    kernel: Kernel, *, over_grid: bool = False, axis: str = "x", columns: bool = False, whole: bool = False
) -> ThreadWork:
    """The work of a thread of a kernel that an axis counts, or why several threads cannot share it.

    `over_grid`: the work may be that of a round of a loop over the whole grid. `columns`: the axis counts
    columns, of which a row has as many as the work's bound says. `whole`: as `row_work` takes it.
    """
    syntax = syntax_of(kernel)
    work = (strided_work_of(kernel, syntax) if over_grid else None) or work_of(kernel, syntax, axis)
    _check_several(kernel, syntax, work)
    # A thread has a column only where there are more than none: its rows lie apart.
    pitch = text_of(work.bound) if columns and work.bound.type == "identifier" else ""
    return ThreadWork(syntax, work, row_work(syntax, work.inner, pitch, whole=whole))


def _beside(syntax: CudaSyntax, work: ElementWork) -> str:
    """What names a place in the grid outside of the head of the loop over it; "" where nothing does."""
    assert work.update is not None
    declared = {v.name: v.node for v in syntax.entry.variables if v.node.end_byte <= work.guard.start_byte}
    head = [work.start, work.update]
    for part in head:
        head += [declared[n] for n in identifiers_in(part) & declared.keys() if declared[n] not in head]
    own = {name for name, node in declared.items() if node in head}
    for node in descendants(syntax.entry.node):
        named = node.type == "identifier" and text_of(node) in own | _OF_THE_GRID
        if named and not any(contains(part, node) for part in head):
            return text_of(node)
    return ""


def _check_several(kernel: Kernel, syntax: CudaSyntax, work: ElementWork) -> None:
    """Refuse work in which several threads cannot stand where one thread stood."""
    if work.update is not None and (beside := _beside(syntax, work)):
        raise Refusal(
            f"`{beside}` tells a thread or the grid beside `{work.index.name}`; it has another meaning then"
        )
    text = text_of(syntax.entry.node)
    if len(_THREAD.findall(text)) > 1:
        raise Refusal(f"{kernel.name} uses threadIdx beside `{work.index.name}`; it would name a lane then")
    if work.update is None and len(_BLOCK.findall(text)) > 1:
        raise Refusal(
            f"{kernel.name} uses blockDim beside `{work.index.name}`; blocks have another size then"
        )
    check_hidden_reads(kernel, syntax, _HIDDEN, "its thread")
    for unit in syntax.units[1:]:
        if _may_write(unit, {one.name for one in syntax.units}):
            raise Refusal(f"{unit.name}, which {kernel.name} calls, may write what it is handed")
    for call in syntax.entry.calls:
        alone = call.node.parent is not None and call.node.parent.type == "expression_statement"
        if call.name.startswith("atomic") and not alone:
            raise Refusal(f"`{text_of(call.node)}` tells a thread what others did")


def _may_write(unit: Unit, read: set[str]) -> bool:
    """Whether a function may change what it is handed: by a reference, or through a pointer. `read` are functions of
    which the same is asked.
    """
    declared = next((n for n in descendants(unit.node) if n.type == "parameter_list"), unit.node)
    handed = [n for n in descendants(declared) if n.type in ("reference_declarator", "pointer_declarator")]
    if any(n.type == "reference_declarator" for n in handed):
        return True
    accesses = [a for a in indexing(unit).accesses if a.space != "local"]
    reads = all(a.reads and not a.writes for a in accesses)
    calls = all(c.qualified in read or only_gives_a_value(c.qualified) for c in unit.calls)
    return bool(handed) and not (reads and calls)
