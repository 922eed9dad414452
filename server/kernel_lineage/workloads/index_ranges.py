"""The range of whole numbers that no code tells, where all shapes are known: the largest one that stays in bounds.

Numbers that index nothing, like masks and seeds, may be any of their type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
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

    Any of the type if they may be, else those below a dim: the largest that will do. The kernel is run on the emulated
    device, each index at its largest value. One for which no dim will do keeps being without a range.
    """
    wanted = [m.removeprefix(UNRANGED) for m in draft.missing if m.startswith(UNRANGED)]
    if any(not m.startswith(UNRANGED) for m in draft.missing):
        return draft
    first = next(iter(plans(draft.dims, draft.chosen, draft.told)))
    sizes = fitted_sizes(first.tried, draft.promises)
    for name in wanted:
        extents = {e for a in draft.arguments if a.name != name for e in a.shape or ()}
        dims = sorted((d for d in sizes if d in extents), key=lambda d: -sizes[d])
        for races, (largest, values, why) in product((True, False), [*_candidates(draft, name, dims)]):
            small = replace(draft, dims=sizes, checked=sizes)
            if all(
                stays_in_bounds(_ranged(small, name, held), sizes, kernel, path, root, races=races)
                for held in dict.fromkeys((largest, values))
            ):
                missing = tuple(m for m in draft.missing if m != f"{UNRANGED}{name}")
                note = f"{name} is taken to hold {why}{'' if races else RACING}"
                draft = replace(draft, assumed=(*draft.assumed, note), missing=missing)
                draft = _ranged(draft, name, values)
                break
    return draft


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


def _candidates(draft: Draft, name: str, dims: list[str]) -> Iterator[tuple[str, str, str]]:
    """Ways to draw an index, those that say least first: at its largest, as it is drawn, and what is said of it."""
    shape = next((a.shape for a in draft.arguments if a.name == name), None)
    if shape != ("1",):  # one number that is drawn shows nothing of the others
        yield "integers", "integers", "any numbers: the kernel stays in its buffers with them"
    for below in dims:
        why = f"numbers below {below}: with larger ones the kernel leaves its buffers"
        yield f"integers({below} - 1, {below})", f"integers(0, {below})", why
    if shape:
        # Threads that write to the same place race: where the elements say the place, none comes twice.
        each = f"permutation({' * '.join(f'({e})' for e in shape)})"
        yield (
            each,
            each,
            "each number once: with two equal ones threads race, or the kernel leaves its buffers",
        )


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
