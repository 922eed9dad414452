"""The sizes at which a kernel is run to see what no code tells of it, as its own code and its callers allow them."""

from __future__ import annotations

import math
from dataclasses import replace

from kernel_gate.expressions import ExpressionError, evaluate
from kernel_lineage.workloads.checked_sizes import two_tiles
from kernel_lineage.workloads.chosen_sizes import Plan, plans
from kernel_lineage.workloads.divisions import divisible, divisors
from kernel_lineage.workloads.fit import MOST_TIMES
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.promises import fitted_sizes, with_room_to_grow

_MOST_THREADS = 1 << 18
"""Threads of a launch that is tried before those that have more: what runs within a second or two."""


def trials_of(draft: Draft) -> list[Plan]:
    """The sizes to run a draft at, in turn: last those at which a launch has more threads than are run in time."""
    trials = plans(draft.dims, draft.chosen, draft.told, divisors(draft))
    return sorted(
        (promised(plan, draft) for plan in trials), key=lambda p: _threads(draft, p) > _MOST_THREADS
    )


def _threads(draft: Draft, plan: Plan) -> int:
    """The threads of a launch at the sizes that are tried, programs of Triton; 0 where the draft does not tell."""
    try:
        return math.prod(int(evaluate(text, plan.tried)) for text in (*draft.grid, *draft.block))
    except (ExpressionError, ArithmeticError, ValueError):
        return 0


def of_two_tiles(plan: Plan, draft: Draft) -> Plan | None:
    """The plan with sizes of two tiles where the grid has one block of a dim that it tiles, which says nothing of what
    the next block reaches; None where it has more, or where two tiles have more threads than are run in time.
    """
    tiles = two_tiles(replace(draft, dims=dict(plan.timed)))
    tried = {n: max(size, tiles.get(n, 0)) for n, size in plan.tried.items()}
    wider = promised(replace(plan, tried=tried), draft)
    return wider if wider.tried != plan.tried and _threads(draft, wider) <= _MOST_THREADS else None


def for_dims_of(draft: Draft, plan: Plan) -> Plan:
    """A plan for the dims that a draft has."""
    tried, timed = ({n: sizes[n] for n in draft.dims} for sizes in (plan.tried, plan.timed))
    return replace(plan, tried=tried, timed=timed)


def promised(plan: Plan, draft: Draft) -> Plan:
    """A plan whose sizes keep what the host code asks for, those that are tried also where one of them is larger."""
    promises, fixed = draft.promises, draft.dims.keys() - draft.chosen
    tried, timed = (divisible(draft, fitted_sizes(s, promises), fixed) for s in (plan.tried, plan.timed))
    return replace(plan, tried=with_room_to_grow(tried, promises, MOST_TIMES), timed=timed)
