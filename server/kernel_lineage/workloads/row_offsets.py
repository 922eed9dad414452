"""The inputs of a kernel that say where rows begin: an element and the next one are the two ends of a row.

Compressed rows of sparse matrices, and sequences of different lengths that lie one behind the other, are given so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from kernel_gate.expr.polynomials import plus, polynomial, times
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.kernels.source import Language
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.checked_sizes import CHECKED_ELEMENTS
from kernel_lineage.workloads.files import Launcher, Target
from kernel_lineage.workloads.model import UNRANGED, UNSHAPED, Draft
from kernel_lineage.workloads.promises import broken
from kernel_lineage.workloads.searched import searched
from kernel_lineage.workloads.triton.row_pairs import row_pairs, row_pairs_of_launches

_MOST_TOTALS = 2
"""Dims that other buffers begin with, and that are tried as the end of the last row: each costs a run."""
_ROWS = (9, 5, 3)
"""Places where rows begin, the last row's end among them, that are checked."""
_LENGTH = 3
"""Elements of a row that is checked."""
_OFFSETS = re.compile(r"offsets\((.+)\)")
_MOST_ELEMENTS = 4 * CHECKED_ELEMENTS
_TOTAL = 640
"""Elements of all rows together where no dim tells them."""


def row_offsets(kernel: Target) -> frozenset[str]:
    """The buffers of which a kernel reads pairs of neighbours, and nothing else, or that it searches by halves.

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
    pairs = {*searched(kernel)}
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
    totals = (*[*dict.fromkeys(lengths)][:_MOST_TOTALS], None)
    for way, total in (*_with_all_rows(draft), *((draft, total) for total in totals)):
        ends = {name: total or f"{name}_total" for name in sorted(names)}
        yield replace(
            way,
            dims={**way.dims, **({} if total else dict.fromkeys(ends.values(), _TOTAL))},
            arguments=tuple(
                replace(a, values=f"offsets({ends[a.name]})") if a.name in ends else a for a in way.arguments
            ),
            assumed=tuple(dict.fromkeys((*way.assumed, *(_note(n, e) for n, e in ends.items())))),
            missing=tuple(m for m in way.missing if m.removeprefix(UNRANGED) not in ends),
        )


def with_several_rows(draft: Draft) -> Draft:
    """The draft that is checked with several rows, of several elements, where an input says where rows begin: one row
    alone, which is from the first element to the last, tells nothing of where the next one begins.
    """
    checked = dict(draft.checked)
    for argument in draft.arguments:
        end = _OFFSETS.fullmatch(argument.values)
        names = {n for e in argument.shape or () for n in WORD.findall(e)} & draft.dims.keys()
        if end is None or len(names) != 1:
            continue
        (name,) = names
        for rows in _ROWS:
            more = _at_least(draft, checked, name, rows)
            more = _at_least(draft, more, end[1], _LENGTH * more[name])
            if draft.elements(more) <= _MOST_ELEMENTS and not broken(more, draft.promises):
                checked = more
                break
    return replace(draft, checked=checked) if checked != draft.checked else draft


def _at_least(draft: Draft, sizes: Mapping[str, int], name: str, least: int) -> dict[str, int]:
    """Sizes with a dim that is no less than a number, or than what callers come with."""
    if name not in draft.dims:
        return dict(sizes)
    most = least if name in draft.untold else draft.dims[name]
    return {**sizes, name: max(sizes[name], min(least, most))}


def _with_all_rows(draft: Draft) -> Iterator[tuple[Draft, str]]:
    """The draft in which a tensor of which the host code asks all but how many rows it has holds all rows together, and
    the dim that these are.
    """
    for argument in draft.arguments:
        first, *rest = argument.asked or ("",)
        if argument.shape is None and not first and rest and all(rest):
            rows = f"{argument.name}_rows"
            shaped = replace(argument, shape=(rows, *rest))
            yield (
                replace(
                    draft,
                    dims={**draft.dims, rows: _TOTAL},
                    arguments=tuple(shaped if a is argument else a for a in draft.arguments),
                    assumed=(*draft.assumed, f"{argument.name} is taken to hold all rows together"),
                    missing=tuple(
                        m for m in draft.missing if not m.startswith(f"{UNSHAPED}{argument.name}:")
                    ),
                ),
                rows,
            )


def _note(name: str, end: str) -> str:
    return f"{name} is taken to ascend from 0 to {end}: it is read as where rows begin"
