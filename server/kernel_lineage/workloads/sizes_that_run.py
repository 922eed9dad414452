"""Sizes at which a kernel that a test runs leaves its buffers, and its callers' own at which it does not.

A kernel may count on a size that its host code never names. The test's own size of such a dim is then its only one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kernel_gate.cases import elements
from kernel_gate.deadline import seconds_left
from kernel_gate.expressions import ExpressionError
from kernel_gate.footprint import FootprintError, footprints
from kernel_gate.workload import WorkloadError
from kernel_lineage.kernels.cuda_forms import inside
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.workloads.checked_sizes import CHECKED_ELEMENTS, with_checked_sizes
from kernel_lineage.workloads.files import Launcher, Target, data_of
from kernel_lineage.workloads.index_ranges import stays_in_bounds
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.programs import ProgramError, program_from_file

_LOOPS = frozenset({"for_statement", "while_statement", "do_statement"})
_LONG = 512
_MOST_STEPS = 160
"""Basic blocks of a wave: a check runs some hundred launches, each of which is to take a tenth of a second."""
_FEWEST_ELEMENTS = 1 << 11
_SECONDS = 10.0
"""What a draft has to have left for being run once more."""
_MOST_ELEMENTS = 1 << 19
_MOST_TRIED = 6


def with_sizes_that_run(draft: Draft, kernel: Target, path: Path, root: Path) -> Draft | None:
    """The draft with dims that keep the size that callers give them: the kernel leaves its buffers at the checked one.

    The kernel is run on the emulated device: with one dim at its callers' size, then with all. None where it stays
    in its buffers as it is, and where no such size is found.
    """
    if draft.missing or stays_in_bounds(draft, draft.checked, kernel, path, root):
        return None
    for names in _likely(draft):
        sizes = {**draft.checked, **{n: draft.dims[n] for n in names}}
        only = tuple(f"{n} == {draft.dims[n]}" for n in names)
        tried = replace(draft, checked=sizes, promises=(*draft.promises, *only))
        if _is_small(tried) and stays_in_bounds(tried, sizes, kernel, path, root):
            note = f"{' and '.join(only)}: at smaller sizes the kernel leaves its buffers"
            return replace(tried, assumed=(*draft.assumed, note))
    return None


def with_few_steps(draft: Draft, kernel: Target, path: Path, root: Path) -> Draft:
    """The draft with checked sizes: smaller ones where the kernel takes many steps at those that its elements say.

    A kernel whose work grows with the square of its elements takes a hundred times as long as another one of as many.
    """
    checked = with_checked_sizes(draft)
    if checked.missing or isinstance(kernel, Launcher) or kernel.language is not Language.CUDA:
        return checked
    if not _may_take_many(checked, kernel):
        return checked
    most = CHECKED_ELEMENTS // 2
    while (
        most >= _FEWEST_ELEMENTS
        and _takes_many_steps(checked, kernel, path, root)
        and seconds_left() > _SECONDS
    ):
        checked = with_checked_sizes(draft, most)
        most //= 2
    return checked


def _may_take_many(draft: Draft, kernel: Kernel) -> bool:
    """Whether a thread may go through many rounds: those of a loop over a long extent, or of a loop in a loop."""
    if kernel.source is None or kernel.source.root is None:
        return False
    own = kernel.span
    loops = [
        n for n in inside(kernel.source.root) if n.type in _LOOPS and own.start <= n.start_byte < own.end
    ]
    is_nested = any(b.start_byte < a.start_byte < b.end_byte for a in loops for b in loops)
    return is_nested or (bool(loops) and max(draft.checked.values(), default=0) > _LONG)


def _takes_many_steps(draft: Draft, kernel: Kernel, path: Path, root: Path) -> bool:
    try:
        workload = draft.workload()
        program = program_from_file(path, kernel.name, workload, data=data_of(kernel), root=root)
        list(footprints(program, workload, [dict(draft.checked)], steps=_MOST_STEPS))
    except FootprintError as error:
        return error.of_work
    except (ProgramError, WorkloadError):
        pass
    return False


def _likely(draft: Draft) -> Iterator[tuple[str, ...]]:
    """The dims to keep at their callers' size: one, those that cost least first, then all."""
    moved = [n for n in draft.dims if draft.checked[n] != draft.dims[n]]
    moved.sort(key=lambda n: draft.dims[n] / draft.checked[n])
    yield from ((n,) for n in moved[:_MOST_TRIED])
    if len(moved) > 1:
        yield tuple(moved)


def _is_small(draft: Draft) -> bool:
    try:
        workload = draft.workload()
        return workload.keeps_promises(draft.checked) and elements(workload, draft.checked) <= _MOST_ELEMENTS
    except (ExpressionError, WorkloadError):
        return False
