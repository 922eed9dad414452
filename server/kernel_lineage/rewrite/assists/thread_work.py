"""The work of one thread that several threads are to share: its statements, and its loops along a row or a column."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.element_work import ElementWork, work_of
from kernel_lineage.rewrite.assists.hidden_reads import check_hidden_reads
from kernel_lineage.rewrite.assists.layout import descendants, syntax_of
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.row_work import RowWork, row_work

_THREAD = re.compile(r"\bthreadIdx\b")
_HIDDEN = re.compile(r"threadIdx|blockDim|warpSize")


@dataclass(frozen=True, slots=True)
class ThreadWork:
    """What one thread does, where several can stand in its place."""

    syntax: CudaSyntax
    work: ElementWork
    rows: RowWork


def thread_work_of(kernel: Kernel) -> ThreadWork:
    """The work of a thread of a kernel, or why several threads cannot share it."""
    syntax = syntax_of(kernel)
    work = work_of(kernel, syntax)
    _check_several(kernel, syntax, work)
    return ThreadWork(syntax, work, row_work(syntax, work.inner))


def _check_several(kernel: Kernel, syntax: CudaSyntax, work: ElementWork) -> None:
    """Refuse work in which several threads cannot stand where one thread stood."""
    if len(_THREAD.findall(text_of(syntax.entry.node))) > 1:
        raise Refusal(f"{kernel.name} uses threadIdx beside `{work.index.name}`; it would name a lane then")
    check_hidden_reads(kernel, syntax, _HIDDEN, "its thread")
    for unit in syntax.units[1:]:
        declared = next((n for n in descendants(unit.node) if n.type == "parameter_list"), unit.node)
        if any(n.type in ("reference_declarator", "pointer_declarator") for n in descendants(declared)):
            raise Refusal(f"{unit.name}, which {kernel.name} calls, may write what it is handed")
    for call in syntax.entry.calls:
        alone = call.node.parent is not None and call.node.parent.type == "expression_statement"
        if call.name.startswith("atomic") and not alone:
            raise Refusal(f"`{text_of(call.node)}` tells a thread what others did")
