"""How the budget of one step is shared out among axes: most to those along which something was seen to fail."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from kernel_lineage.learning.probes.asking import Asking, OutOfBudget, Saw
from kernel_lineage.learning.probes.axis import Axis, Ground

_SCOUTED = 5
"""Boundaries of each axis that are probed before any axis is gone along: first the case that is known to be right."""
_SCOUTING = 0.25
"""The part of the budget that this may take."""
_SEEN = 4.0
"""What an axis along which something failed gets, for each part that another one gets."""


def shares(order: Sequence[Axis], ground: Ground, asking: Asking) -> list[float]:
    """For each axis in turn, which part of what is left by then it may spend.

    Twice what its weight comes to, as the later ones get what it leaves; all for the last.
    """
    failed = _with_failures(order, ground, asking) if len(order) > 1 else set()
    weights = [_SEEN if axis.id in failed else 1.0 for axis in order]
    return [2 * weight / (sum(weights[n:]) + weight) for n, weight in enumerate(weights)]


def _with_failures(order: Sequence[Axis], ground: Ground, asking: Asking) -> set[str]:
    asking.share(_SCOUTING)
    failed = set()
    try:
        for axis in order:
            near = islice((s for s in axis.boundaries(ground) if s.runs), _SCOUTED)
            if any(answer.saw is Saw.FAILS for answer in asking.all(near)):
                failed.add(axis.id)
    except OutOfBudget:
        pass  # what was not looked at weighs as what has shown nothing
    return failed
