"""Dims that nothing of a launch speaks of: whether the kernel takes them to be others, seen by running it.

The batch of a cache that no check compares with the batch of the queries is such a dim: with fewer of it than the
kernel takes for granted it leaves its buffers, and then it is one of those that the launch is given.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from kernel_gate.deadline import seconds_left
from kernel_gate.program import LaunchStep, Value
from kernel_gate.workload import WorkloadError
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.equal_dims import is_named_for_want, with_dim_as
from kernel_lineage.workloads.files import Launcher, Target, data_of
from kernel_lineage.workloads.index_ranges import stays_in_bounds
from kernel_lineage.workloads.model import CHOSEN, Draft, DraftArgument
from kernel_lineage.workloads.programs import ProgramError, program_from_file
from kernel_lineage.workloads.promises import broken, fitted_sizes

_RANGE = re.compile(r"integers\(0, .*\)")
_MOST_SMALL = 8
"""Coordinates, gates and corners are no more than these."""
_ALIGNED = 16
_SPACE = 2
"""Times the largest size that a dim has where it is another one that is looked at."""
_SECONDS = 10.0
"""What a kernel has to have left for being run some times more."""


def with_ties(draft: Draft, kernel: Target, path: Path, root: Path) -> Draft:
    """The draft in which a dim of buffers alone is another one, where the kernel leaves them with fewer of it.

    With a dim that the kernel does not count on, it stays in its buffers; indices are at their lowest meanwhile.
    """
    passed = _passed(draft, kernel, path, root)
    names = sorted(loose(draft, passed), key=lambda name: _axis(draft, name))
    nameless = [n for n in names if is_named_for_want(n) and _is_chosen(draft, n)]
    for name in names:
        # Others of which as little is told have room meanwhile, or it would be one of them that is too small.
        most = _SPACE * max(draft.checked.values())
        space = dict.fromkeys(nameless[nameless.index(name) + 1 :], most) if name in nameless else {}
        draft = _with_tie(draft, name, space, passed, kernel, path, root)
    return draft


def _axis(draft: Draft, name: str) -> int:
    """The outermost axis of a buffer that a dim is: how long a row may be shows where it is told how many there are."""
    shapes = (a.shape for a in draft.arguments if a.shape and name in a.shape)
    return min((shape.index(name) for shape in shapes), default=0)


def _with_tie(
    draft: Draft,
    name: str,
    space: Mapping[str, int],
    passed: Collection[str],
    kernel: Target,
    path: Path,
    root: Path,
) -> Draft:
    few = replace(draft, arguments=tuple(replace(a, values=_lowest(a.values)) for a in draft.arguments))
    sizes = {**draft.checked, **space, name: 1}
    if seconds_left() < _SECONDS or broken(sizes, draft.promises):
        return draft
    # A multiple of 16 first, as others are: where that is not enough, the same compiled kernel shows it.
    others = [size for n, size in draft.checked.items() if n != name]
    aligned = {**sizes, name: _ALIGNED}
    if min(others, default=0) <= _ALIGNED or stays_in_bounds(few, aligned, kernel, path, root):
        if stays_in_bounds(few, sizes, kernel, path, root):
            return draft if space else _with_room(draft, name, kernel, path, root)
        if (bounded := _with_least(few, draft, name, space, kernel, path, root)) is not None:
            return bounded
    for other in _others(draft, name, passed):
        note = f"{name} is taken to be {other.strip('()')}: with fewer the kernel leaves its buffers"
        tied = with_dim_as(draft, name, other, note)
        if all(
            not broken(tried, tied.promises) and stays_in_bounds(tied, tried, kernel, path, root)
            for tried in ({**tied.checked, **space}, *_with_fewer(tied, other, space))
        ):
            return tied
    return draft


def _with_fewer(tied: Draft, other: str, space: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Sizes with fewer of a dim than of any other: there a tie that only happens to be large enough is not."""
    least = min(size for name, size in tied.checked.items() if name not in space)
    fewer = {**tied.checked, **space, other: max(1, least // 2)}
    sizes = fitted_sizes(fewer, tied.promises, (other,))
    if other in tied.checked and not broken(sizes, tied.promises):
        yield sizes


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


def _with_least(
    few: Draft, draft: Draft, name: str, space: Mapping[str, int], kernel: Target, path: Path, root: Path
) -> Draft | None:
    """The draft in which a dim that was chosen is at least a small number, which is enough whatever other dims are, as
    three coordinates of a point are; None where none is. `few` is the draft with the least indices.
    """
    if not _is_chosen(draft, name):
        return None
    larger = {n: max(2 * size, 3 * _MOST_SMALL) for n, size in draft.checked.items()}
    others = fitted_sizes(larger, draft.promises)

    def is_enough(size: int, others: Mapping[str, int] = others) -> bool:
        sizes = {**others, **space, name: size}
        return not broken(sizes, draft.promises) and stays_in_bounds(few, sizes, kernel, path, root)

    # First at sizes for which the kernel is compiled already.
    if not (is_enough(_MOST_SMALL, draft.checked) and is_enough(_MOST_SMALL)):
        return None
    least = next((size for size in range(2, _MOST_SMALL) if is_enough(size)), _MOST_SMALL)
    note = f"{name} is at least {least}: with fewer the kernel leaves its buffers"
    return replace(
        draft,
        promises=(*draft.promises, f"{name} >= {least}"),
        checked={**draft.checked, name: max(draft.checked[name], least)},
        assumed=(*draft.assumed, note),
    )


def loose(draft: Draft, passed: Collection[str] = ()) -> list[str]:
    """The dims that only extents of buffers are made of, and extents and strides that a structure has beside one; those
    too that no code has a name for, such as the columns of a tensor of which it asks the rows.

    `passed` are the numbers of the launches of a host function.
    """
    spoken = _spoken_of(draft, passed)
    return [n for n in draft.dims if n not in spoken or (is_named_for_want(n) and _is_chosen(draft, n))]


def _spoken_of(draft: Draft, passed: Collection[str]) -> set[str]:
    """The dims in numbers that launches are given."""
    texts = [
        *draft.launch_texts,
        *passed,
        *(str(text) for a in draft.arguments if not _is_beside(a, draft) for text in (a.value, a.values)),
    ]
    return {name for text in texts for name in WORD.findall(str(text))}


def _passed(draft: Draft, kernel: Target, path: Path, root: Path) -> tuple[str, ...]:
    """The numbers of a host function's launches, as expressions; none for a kernel, whose draft has them."""
    if not isinstance(kernel, Launcher):
        return ()
    try:
        program = program_from_file(path, kernel.name, draft.workload(), data=data_of(kernel), root=root)
    except (ProgramError, WorkloadError):
        return ()
    launches = [step for step in program.steps if isinstance(step, LaunchStep)]
    texts = (
        text
        for step in launches
        for text in (
            *step.launch.grid,
            *step.launch.block,
            *step.launch.constexpr.values(),
            *(word.value for word in step.arguments if isinstance(word, Value)),
        )
    )
    return tuple(map(str, texts))


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


def _others(draft: Draft, name: str, passed: Collection[str]) -> Iterator[str]:
    """Dims that a launch speaks of, those first that the code has names for, and of these what buffers begin with.

    Before them, where the code gives the dim a size, what comes to this size: a dim, or the quotient or multiple of
    one, the smallest number first.
    """
    spoken = _spoken_of(draft, passed) - {name}
    first = [a.shape[0] for a in draft.arguments if a.shape]
    others = [n for n in dict.fromkeys((*first, *draft.dims)) if n in draft.dims and n in spoken]
    others.sort(key=is_named_for_want)
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
