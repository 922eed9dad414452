"""What is wrong only where a scalar of the workload is beyond its kind, or two float scalars change their order.

What a scalar of another sign, or above one, breaks is broken at more than one such value: what is wrong at a single one
is a fault, unless the scalar is a whole number.

`min(max(x, lo), hi)` and `x < lo ? lo : x > hi ? hi : x` differ where `lo > hi`, which callers hardly mean. It is a
condition where the candidate is right on the workload's side up to the limit, wrong at more than one value beyond, and
right there again when the limit moves on as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kernel_gate.cases import Case, constant_integers, constant_scalars, needed_of_scalars
from kernel_gate.stages.check_case import check_case
from kernel_gate.stages.check_state import CheckState, Dropped, Stop

_FURTHER = {False: 1.375, True: 3}
"""Where a number is tried again, in the same direction, by whether it is whole."""


def needed_of_kind(run: CheckState, case: Case) -> str | None:
    """`a >= 0`, `n == 5`, `slope <= 1` or `b != 0` where the candidate needs that; None where that does not tell."""
    needed = needed_of_scalars(run.workload, case)
    if needed is None:
        return None
    name, operator, _ = needed.split()
    usual = constant_integers(run.workload)
    further = dict(case.scalars)[name] * _FURTHER[name in usual]
    if operator in (">=", "<=") and _agrees(run, case, {name: further}):
        return f"{name} == {usual[name]}" if name in usual else None
    return needed


def needed_of_order(run: CheckState, case: Case) -> str | None:
    """`lo <= hi` where that is what the candidate needs; None for a case that changes no order."""
    if len(case.scalars) != 1:
        return None
    ((name, value),) = case.scalars
    values = run.workload.scalars(case.dims)
    usual = values[name]
    for other in constant_scalars(run.workload):
        limit = values[other]
        if (usual - limit) * (value - limit) >= 0:
            continue
        in_order = ({name: limit}, {name: (usual + limit) / 2}, {name: value, other: 2 * value - limit})
        keeps = all(_agrees(run, case, numbers) for numbers in in_order)
        if keeps and _agrees(run, case, {name: (value + limit) / 2}) is False:
            return f"{name} <= {other}" if usual < limit else f"{other} <= {name}"
    return None


def _agrees(run: CheckState, case: Case, numbers: Mapping[str, float]) -> bool | None:
    """Whether the candidate is right with these numbers; None where nothing can be said."""
    try:
        check_case(run, replace(case, scalars=tuple(numbers.items())), again=False)
    except Dropped:
        return None
    except Stop as stop:
        return False if stop.at_fault == "candidate" else None
    return True
