"""The range of whole numbers that no code tells, where all shapes are known: the largest one that stays in bounds.

Numbers that index nothing, like masks and seeds, may be any of their type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from math import prod
from pathlib import Path

from kernel_gate.footprint import FootprintError, footprints
from kernel_gate.workload import WorkloadError
from kernel_lineage.workloads.chosen_sizes import plans
from kernel_lineage.workloads.files import Launcher, Target, data_of
from kernel_lineage.workloads.model import UNRANGED, Draft
from kernel_lineage.workloads.programs import ProgramError, program_from_file
from kernel_lineage.workloads.promises import broken, fitted_sizes

RACING = "; threads race with all values that were tried"
"""What is said beside a range with which the kernel stays in its buffers all the same."""


_GUESSED = " is taken to hold numbers below "
_EACH_ONCE = re.compile(r"permutation\((.+)\)")
_BELOW = re.compile(r"integers\(0, (\w+)\)")


def with_ranges_in_bounds(draft: Draft, kernel: Target, path: Path, root: Path) -> Draft:
    """The draft whose indices have values with which the kernel stays in its buffers.

    Any of the type if they may be, else those below a dim, or below the product of the extents that a buffer begins
    with: the largest that will do. The kernel is run on the emulated device, each index at its largest value. One for
    which none will do keeps being without a range.
    """
    wanted = [m.removeprefix(UNRANGED) for m in draft.missing if m.startswith(UNRANGED)]
    if any(not m.startswith(UNRANGED) for m in draft.missing):
        return draft
    first = next(iter(plans(draft.dims, draft.chosen, draft.told)))
    sizes = fitted_sizes(first.tried, draft.promises)
    least = _least(draft, sizes, kernel, path, root) if wanted else None
    for name in wanted:
        for races, (largest, values, why) in product((True, False), [*_candidates(draft, name, sizes)]):
            small = replace(draft, dims=sizes, checked=sizes)
            each_once = _EACH_ONCE.fullmatch(values)
            if all(
                stays_in_bounds(
                    _ranged(small, name, held),
                    sizes,
                    kernel,
                    path,
                    root,
                    # Where none comes twice, numbers that are all the same show how far the kernel reaches alone.
                    races=races and (each_once is None or held == values),
                )
                for held in dict.fromkeys((largest, values))
            ) and (
                least is None or stays_in_bounds(_ranged(draft, name, largest), least, kernel, path, root)
            ):
                missing = tuple(m for m in draft.missing if m != f"{UNRANGED}{name}")
                if each_once is not None and (count := _count(draft, name)) != each_once[1]:
                    draft = replace(draft, promises=(*draft.promises, f"{each_once[1]} >= {count}"))
                note = f"{name} is taken to hold {why}{'' if races else RACING}"
                draft = replace(draft, assumed=(*draft.assumed, note), missing=missing)
                draft = _ranged(draft, name, values)
                break
    return draft


def _least(
    draft: Draft, sizes: Mapping[str, int], kernel: Target, path: Path, root: Path
) -> dict[str, int] | None:
    """The least sizes of what is chosen; None where the kernel leaves its buffers there whatever its indices are."""
    least = fitted_sizes({**sizes, **dict.fromkeys(draft.chosen, 1)}, draft.promises)
    if least == sizes or broken(least, draft.promises):
        return None
    return least if stays_in_bounds(draft, least, kernel, path, root) else None


def with_distinct_indices(draft: Draft) -> Draft | None:
    """The draft in which no number comes twice in the next array whose range is a guess: the kernel's result depends
    on the order in which threads write. None where there is none left.
    """
    for argument in draft.arguments:
        below = _BELOW.fullmatch(argument.values)
        note = next((n for n in draft.assumed if n.startswith(f"{argument.name}{_GUESSED}")), "")
        if argument.kind != "input" or below is None or not note or not argument.shape:
            continue
        each = f"{below[1]} >= {' * '.join(f'({e})' for e in argument.shape)}"
        promises = (*draft.promises, each)
        dims, checked = (fitted_sizes(s, promises) for s in (draft.dims, draft.checked))
        if broken(dims, promises) or broken(checked, promises):
            continue
        why = f"{note}; none comes twice, or the order of threads decides what is written"
        assumed = tuple(why if n == note else n for n in draft.assumed)
        draft = _ranged(draft, argument.name, f"permutation({below[1]})")
        return replace(draft, dims=dims, checked=checked, promises=promises, assumed=assumed)
    return None


def with_repeated_indices(draft: Draft, kernel: Target, path: Path, root: Path) -> Draft:
    """The draft in which numbers may come twice where a test gives each once and a kernel that adds by atomics does not
    count on it: it stays in its buffers with them, and no threads race.
    """
    if isinstance(kernel, Launcher) or "atomic" not in kernel.text or draft.missing:
        return draft
    for argument in draft.arguments:
        each_once = _EACH_ONCE.fullmatch(argument.values)
        if argument.kind != "input" or each_once is None:
            continue
        repeated = _ranged(draft, argument.name, f"integers(0, {each_once[1]})")
        equal = _ranged(draft, argument.name, "integers(0, 1)")
        sizes = draft.checked
        if all(stays_in_bounds(d, sizes, kernel, path, root, races=True) for d in (equal, repeated)):
            note = f"{argument.name} may hold a number twice: the kernel adds by atomics"
            draft = replace(repeated, assumed=(*draft.assumed, note))
    return draft


def _candidates(draft: Draft, name: str, sizes: Mapping[str, int]) -> Iterator[tuple[str, str, str]]:
    """Ways to draw an index, those that say least first: at its largest, as it is drawn, and what is said of it."""
    count = _count(draft, name)
    if count != "(1)":  # one number that is drawn shows nothing of the others
        yield "integers", "integers", "any numbers: the kernel stays in its buffers with them"
    ends = _ends(draft, name, sizes)
    for below in ends:
        why = f"numbers below {below}: with larger ones the kernel leaves its buffers"
        yield f"integers({below} - 1, {below})", f"integers(0, {below})", why
    # Threads that write to the same place race: where the elements say the place, none comes twice.
    why = "each number once: with two equal ones threads race, or the kernel leaves its buffers"
    for below in ends if count else ():
        if " * " in below and not broken(sizes, (f"{below} >= {count}",)):
            yield f"integers({below} - 1, {below})", f"permutation({below})", f"{why}; all are below {below}"
    if count:
        yield f"permutation({count})", f"permutation({count})", why


def _count(draft: Draft, name: str) -> str:
    """How many elements a buffer has; "" where nothing tells."""
    shape = next((a.shape for a in draft.arguments if a.name == name), None)
    return " * ".join(f"({e})" for e in shape or ())


def _ends(draft: Draft, name: str, sizes: Mapping[str, int]) -> list[str]:
    """What indices may be below, the largest first: dims that are extents, and products of those that buffers begin
    with, such as of blocks and of places in a block.
    """
    ends: dict[str, int] = {}
    for shape in (a.shape or () for a in draft.arguments if a.name != name):
        ends |= {extent: sizes[extent] for extent in shape if extent in sizes}
        for begin in (shape[:2], shape[:3]):
            if 1 < len(begin) < len(shape) and {*begin} <= sizes.keys():
                ends[" * ".join(begin)] = prod(sizes[e] for e in begin)
    return sorted(ends, key=lambda end: -ends[end])


def _ranged(draft: Draft, name: str, values: str) -> Draft:
    return replace(
        draft, arguments=tuple(replace(a, values=values) if a.name == name else a for a in draft.arguments)
    )


def stays_in_bounds(
    draft: Draft,
    sizes: Mapping[str, int],
    kernel: Target,
    path: Path,
    root: Path,
    *,
    races: bool = False,
) -> bool:
    """Whether a kernel runs without a fault, with the least values in other arrays whose range is not known.

    With `races`, a race is a fault too.
    """
    for other in (m.removeprefix(UNRANGED) for m in draft.missing if m.startswith(UNRANGED)):
        if not next((a.values for a in draft.arguments if a.name == other), ""):
            draft = _ranged(draft, other, "integers(0, 1)")
    try:
        workload = replace(draft, missing=()).workload()
        program = program_from_file(path, kernel.name, workload, data=data_of(kernel), root=root)
        list(footprints(program, workload, [dict(sizes)], races=races))
    except (FootprintError, ProgramError, WorkloadError):
        return False
    return True
