"""Dims that nothing of a launch speaks of: whether the kernel takes them to be others, seen by running it.

The batch of a cache that no check compares with the batch of the queries is such a dim: with fewer of it than the
kernel takes for granted it leaves its buffers, and then it is one of those that the launch is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kernel_gate.deadline import seconds_left
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.equal_dims import with_dim_as
from kernel_lineage.workloads.files import Target
from kernel_lineage.workloads.index_ranges import stays_in_bounds
from kernel_lineage.workloads.model import CHOSEN, Draft, DraftArgument
from kernel_lineage.workloads.promises import broken, fitted_sizes

_RANGE = re.compile(r"integers\(0, .*\)")
_MOST_SMALL = 8
"""Coordinates, gates and corners are no more than these."""
_SECONDS = 10.0
"""What a kernel has to have left for being run some times more."""


def with_ties(draft: Draft, kernel: Target, path: Path, root: Path) -> Draft:
    """The draft in which a dim of buffers alone is another one, where the kernel leaves them with fewer of it.

    With a dim that the kernel does not count on, it stays in its buffers; indices are at their lowest meanwhile.
    """
    for name in loose(draft):
        few = replace(draft, arguments=tuple(replace(a, values=_lowest(a.values)) for a in draft.arguments))
        sizes = {**draft.checked, name: 1}
        if seconds_left() < _SECONDS or broken(sizes, draft.promises):
            continue
        if stays_in_bounds(few, sizes, kernel, path, root):
            draft = _with_room(draft, name, kernel, path, root)
            continue
        if (bounded := _with_least(few, draft, name, kernel, path, root)) is not None:
            draft = bounded
            continue
        for other in _others(draft, name):
            note = f"{name} is taken to be {other.strip('()')}: with fewer the kernel leaves its buffers"
            tied = with_dim_as(draft, name, other, note)
            if not broken(tied.checked, tied.promises) and stays_in_bounds(
                tied, dict(tied.checked), kernel, path, root
            ):
                draft = tied
                break
    return draft


def _with_room(draft: Draft, name: str, kernel: Target, path: Path, root: Path) -> Draft:
    """The draft in which a dim is at least what the code gives it, where values of a whole type reach that far: a
    histogram of bytes has 256 bins.
    """
    if not any(a.values == "integers" for a in draft.arguments):
        return draft
    fewer, enough = ({**draft.checked, name: size} for size in (1, draft.dims[name]))
    if stays_in_bounds(draft, fewer, kernel, path, root):
        return draft
    promises = (*draft.promises, f"{name} >= {draft.dims[name]}")
    if broken(enough, promises) or not stays_in_bounds(draft, enough, kernel, path, root):
        return draft
    note = f"{name} is at least {draft.dims[name]}: with fewer the kernel leaves its buffers"
    return replace(draft, promises=promises, checked=enough, assumed=(*draft.assumed, note))


def _with_least(few: Draft, draft: Draft, name: str, kernel: Target, path: Path, root: Path) -> Draft | None:
    """The draft in which a dim that was chosen is at least a small number, which is enough whatever other dims are, as
    three coordinates of a point are; None where none is. `few` is the draft with the least indices.
    """
    if not _is_chosen(draft, name):
        return None
    larger = {n: max(2 * size, 3 * _MOST_SMALL) for n, size in draft.checked.items()}
    others = fitted_sizes(larger, draft.promises)

    def is_enough(size: int) -> bool:
        sizes = {**others, name: size}
        return not broken(sizes, draft.promises) and stays_in_bounds(few, sizes, kernel, path, root)

    if not is_enough(_MOST_SMALL):
        return None
    least = next((size for size in range(2, _MOST_SMALL) if is_enough(size)), _MOST_SMALL)
    note = f"{name} is at least {least}: with fewer the kernel leaves its buffers"
    return replace(
        draft,
        promises=(*draft.promises, f"{name} >= {least}"),
        checked={**draft.checked, name: max(draft.checked[name], least)},
        assumed=(*draft.assumed, note),
    )


def loose(draft: Draft) -> list[str]:
    """The dims that only extents of buffers are made of, and extents and strides that a structure has beside one."""
    texts = [
        *draft.launch_texts,
        *(str(text) for a in draft.arguments if not _is_beside(a, draft) for text in (a.value, a.values)),
    ]
    used = {name for text in texts for name in WORD.findall(str(text))}
    return [name for name in draft.dims if name not in used]


def _is_chosen(draft: Draft, name: str) -> bool:
    """Whether no code gives a dim its size."""
    return name in draft.chosen or any(note.startswith(f"{name}{CHOSEN}") for note in draft.assumed)


def _is_beside(argument: DraftArgument, draft: Draft) -> bool:
    """Whether a number is an extent or a stride that a structure has beside its memory."""
    if argument.kind != "scalar" or argument.place is None:
        return False
    memory = next((a for a in draft.arguments if a.place == (argument.place[0], 0)), None)
    extents = {
        n for extent in (memory.shape or () if memory is not None else ()) for n in WORD.findall(extent)
    }
    return {*WORD.findall(str(argument.value))} <= extents


def _others(draft: Draft, name: str) -> Iterator[str]:
    """Dims that a launch speaks of, those first that a buffer begins with; before them, where the code gives the dim a
    size, what comes to this size: a dim, or the quotient or multiple of one, the smallest number first.
    """
    alone = {*loose(draft)}
    first = [a.shape[0] for a in draft.arguments if a.shape]
    others = [n for n in dict.fromkeys((*first, *draft.dims)) if n in draft.dims and n not in alone]
    size = draft.dims[name]
    if size > 1 and not _is_chosen(draft, name):
        yield from (n for n in others if draft.dims[n] == size)
        parts = [
            (draft.dims[n] // size, f"({n} // {draft.dims[n] // size})")
            for n in others
            if not draft.dims[n] % size
        ]
        wholes = [
            (size // draft.dims[n], f"({n} * {size // draft.dims[n]})")
            for n in others
            if not size % draft.dims[n]
        ]
        yield from (text for times, text in sorted((*parts, *wholes)) if times > 1)
    yield from others


def _lowest(values: str) -> str:
    return "integers(0, 1)" if values == "integers" or _RANGE.fullmatch(values) else values
