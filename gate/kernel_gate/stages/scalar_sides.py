"""Float scalars for both sides of what the programs decide by them: `a == b`, `p > 0.95f`, `fabsf(s) < 1e-3f`.

A workload gives each of them one number, and callers pass others. What is asked are guards that depend on arguments
alone (`emulated/guards.py`), on one shape, with one scalar at a time near a constant of the code or another scalar,
then with two at once far from what the workload gives them: `lr * decay > 0.25f` is decided by neither alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from kernel_gate.cases import Case, constant_scalars
from kernel_gate.deadline import seconds_left
from kernel_gate.workload import Workload

Scalars = tuple[tuple[str, float], ...]
Side = tuple[tuple[int, int], int]
"""A guard, by its kernel and number there, and a side of it."""
_MOST_VARIED = 4
"""Scalars, the first ones."""
_MOST_NUMBERS = 16
_MOST_CASES = 6
_FAR = (8.0, 1 / 8, 128.0, 1 / 128, 1.0)
"""Times what the workload gives a scalar."""


def scalar_cases(
    sides_of: Callable[[Mapping[str, int], Scalars], set[Side]],
    workload: Workload,
    planned: Sequence[Case],
    dims: Mapping[str, int],
    constants: Iterable[float],
    seed: int,
) -> list[Case]:
    """A case for each side that a scalar leads to and no planned case takes."""
    if not constant_scalars(workload):
        return []
    seen: set[Side] = set()
    for case in planned:
        seen |= sides_of(case.dims, case.scalars)
    cases: list[Case] = []
    for scalars in _proposals(workload, dims, constants):
        if len(cases) == _MOST_CASES or not seconds_left():
            break
        if fresh := sides_of(dims, scalars) - seen:
            seen |= fresh
            cases.append(Case(dims, seed + len(cases), origin="hidden", scalars=scalars))
    return cases


def _proposals(workload: Workload, dims: Mapping[str, int], constants: Iterable[float]) -> Iterator[Scalars]:
    """At a number, its opposite and its root; beyond it and nearer to zero: at all of them before any root."""
    values = workload.scalars(dims)
    names = constant_scalars(workload)[:_MOST_VARIED]
    numbers = {abs(float(values[name])) for name in names} | {abs(c) for c in constants}
    some = sorted(numbers - {0.0}, reverse=True)[:_MOST_NUMBERS]
    for factor, power in ((1.0, 1.0), (0.5, 1.0), (2.0, 1.0), (1.0, 0.5)):
        for name in names:
            yield from (((name, sign * factor * number**power),) for number in some for sign in (1, -1))
    for pair in itertools.combinations(names, 2):
        one, other = (float(values[name]) or 1.0 for name in pair)
        for by, of in itertools.product(_FAR, _FAR):
            yield (pair[0], by * one), (pair[1], of * other)
