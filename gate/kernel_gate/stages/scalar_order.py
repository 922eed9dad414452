"""What is wrong only where two float scalars of the workload change their order.

`min(max(x, lo), hi)` and `x < lo ? lo : x > hi ? hi : x` differ where `lo > hi`, which callers hardly mean. It is a
condition where the candidate is right on the workload's side up to the limit, wrong at more than one value beyond, and
right there again when the limit moves on as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kernel_gate.cases import Case, constant_scalars
from kernel_gate.stages.check_case import check_case
from kernel_gate.stages.check_state import CheckState, Dropped, Stop


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
