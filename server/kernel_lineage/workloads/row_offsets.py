"""The inputs of a kernel that say where rows begin: an element and the next one are the two ends of a row.

Compressed rows of sparse matrices, and sequences of different lengths that lie one behind the other, are given so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from kernel_gate.expr.polynomials import plus, polynomial, times
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.files import Launcher, Target
from kernel_lineage.workloads.model import UNRANGED, Draft
from kernel_lineage.workloads.triton.row_pairs import row_pairs, row_pairs_of_launches

_MOST_TOTALS = 2
"""Dims that other buffers begin with, and that are tried as the end of the last row: each costs a run."""
_TOTAL = 640
"""Elements of all rows together where no dim tells them."""


def row_offsets(kernel: Target) -> frozenset[str]:
    """The buffers of which a kernel reads pairs of neighbours, and nothing else.

    A host function's are those that have the name of what it launches with for such a buffer; in CUDA C++ the name of
    one of its kernels' parameters.
    """
    if isinstance(kernel, Launcher) and kernel.source.module is not None:
        return row_pairs_of_launches(kernel.kernels, kernel.source.module)
    if isinstance(kernel, Launcher):
        return frozenset().union(*map(row_offsets, kernel.kernels))
    if kernel.language is Language.TRITON:
        return row_pairs(kernel)
    if kernel.node is None:
        return frozenset()
    read = [a for a in read_open(kernel).accesses if a.space == "global" and a.offset is not None]
    pairs = set()
    for name in {a.root for a in read}:
        own = [a for a in read if a.root == name]
        places = {tuple(sorted(polynomial(a.offset).items(), key=str)) for a in own if a.offset is not None}
        if len(places) != 2 or any(a.writes for a in own):
            continue
        first, second = map(dict, places)
        step = plus(second, times(first, {(): -1}))
        # The next row begins where this one ends; pairs that lie side by side are something else.
        is_next = any(abs(by) == own[0].nbytes for of, by in first.items() if of)
        if is_next and step in ({(): own[0].nbytes}, {(): -own[0].nbytes}):
            pairs.add(name.replace(".", "_"))  # of a structure: its field, as a draft has it
    return frozenset(pairs)


def _is_of_rows(shape: tuple[str, ...]) -> bool:
    return len(shape) > 1


def with_row_offsets(draft: Draft, names: Collection[str]) -> Iterator[Draft]:
    """The draft in which `names`, inputs without a range, ascend to one end each: a dim by which other buffers are as
    long as all rows together, then a dim of its own.
    """
    if not names:
        return
    others = [a.shape for a in draft.arguments if a.name not in names and a.shape]
    lengths = (
        shape[0]
        for shape in sorted(others, key=_is_of_rows)
        if not _is_of_rows(shape) or shape[0] in draft.dims
    )
    for total in (*[*dict.fromkeys(lengths)][:_MOST_TOTALS], None):
        ends = {name: total or f"{name}_total" for name in sorted(names)}
        yield replace(
            draft,
            dims={**draft.dims, **({} if total else dict.fromkeys(ends.values(), _TOTAL))},
            arguments=tuple(
                replace(a, values=f"offsets({ends[a.name]})") if a.name in ends else a
                for a in draft.arguments
            ),
            assumed=tuple(dict.fromkeys((*draft.assumed, *(_note(n, e) for n, e in ends.items())))),
            missing=tuple(m for m in draft.missing if m.removeprefix(UNRANGED) not in ends),
        )


def _note(name: str, end: str) -> str:
    return f"{name} is taken to ascend from 0 to {end}: pairs of neighbours are read"
