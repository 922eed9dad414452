"""Sizes that are whole numbers of a kernel's blocks of elements, as 8 x 8 pixels are: callers keep them so, and where
they do not, the kernel reads past its buffers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kernel_gate.deadline import seconds_left
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.workloads.checked_sizes import CHECKED_WITH
from kernel_lineage.workloads.divisions import numbers_divided_by
from kernel_lineage.workloads.index_ranges import stays_in_bounds
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.promises import broken, fitted_sizes

_SECONDS = 10.0
"""What a draft has to have left for being run some times more."""


def with_whole_blocks(draft: Draft, kernel: Kernel, path: Path, root: Path) -> Draft:
    """The draft with the promise `width % 8 == 0` of each dim for which every caller keeps it, where the kernel or its
    launch divides by the number and the kernel leaves its buffers at sizes that are no multiple; checked with some.
    """
    if draft.missing:
        return draft
    for number in numbers_divided_by(draft, kernel):
        names = [n for n in draft.dims if _is_multiple_for_callers(draft, n, number)]
        multiples = {n: max(number, draft.checked[n] // number * number) for n in names}
        sizes = fitted_sizes({**draft.checked, **multiples}, draft.promises, names)
        one_more = {n: {**sizes, n: sizes[n] + 1} for n in names if seconds_left() > _SECONDS}
        needed = [
            n
            for n, others in one_more.items()
            if not broken(others, draft.promises) and not stays_in_bounds(draft, others, kernel, path, root)
        ]
        block_more = {**sizes, **{n: sizes[n] + number for n in needed}}
        if needed and all(
            not broken(kept, draft.promises) and stays_in_bounds(draft, kept, kernel, path, root)
            for kept in (sizes, block_more)
        ):
            return _promised(draft, dict.fromkeys(needed, number), sizes)
    return draft


def _is_multiple_for_callers(draft: Draft, name: str, number: int) -> bool:
    """Whether callers give a dim sizes that are all multiples of a number."""
    is_chosen = name in {*draft.chosen, *draft.untold}
    return not is_chosen and all(sizes[name] % number == 0 for sizes in (draft.dims, *draft.timed))


def _promised(draft: Draft, numbers: Mapping[str, int], sizes: Mapping[str, int]) -> Draft:
    """The draft in which dims are multiples of numbers, and are checked at these sizes."""
    notes = list(draft.assumed)
    for at, note in enumerate(notes):
        front, checked, _ = note.partition(CHECKED_WITH)
        if checked and (name := note.split(" is ")[0]) in numbers:
            notes[at] = f"{front}{CHECKED_WITH}{sizes[name]}"
    promises = [f"{name} % {number} == 0" for name, number in numbers.items()]
    notes += [
        f"{promise}: else the kernel leaves its buffers, and every caller keeps it" for promise in promises
    ]
    return replace(
        draft, promises=(*draft.promises, *promises), checked=dict(sizes), assumed=tuple(dict.fromkeys(notes))
    )
