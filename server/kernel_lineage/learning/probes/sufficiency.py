"""What a solver says, for all sizes, of conditions that probes found at some.

Probes see sizes that run. Where the later state's accesses are proved to lie within their buffers, or all elements of
an output to be written, under a step's conditions and not without one of them, that one is what it takes at every size.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from kernel_gate.expr.parsing import Reading
from kernel_gate.expr.solver import SolverMissingError
from kernel_lineage.code.model import UnreadableError
from kernel_lineage.learning.probes.axis import Ground
from kernel_lineage.learning.probes.huge_sizes import State, state_of
from kernel_lineage.learning.probes.setting import launch_of
from kernel_lineage.proofs.obligations.in_bounds import in_bounds
from kernel_lineage.proofs.obligations.obligation import Obligation, Status
from kernel_lineage.proofs.obligations.written import written
from kernel_lineage.workloads.programs import ProgramError

_SECONDS = 20.0
_Place = tuple[str, int, str]


def proofs_of(ground: Ground, conditions: Sequence[str]) -> dict[str, str]:
    """What a proof says of each condition on sizes that it speaks for; the others are left out."""
    base = ground.base
    if launch_of(base.after, base.workload) is None:
        return {}
    until = time.monotonic() + _SECONDS
    try:
        after = state_of(base.after, base.workload)
        sized = [c for c in conditions if _is_of_sizes(c, after)]
        if not sized:
            return {}
        proved = _proved(_supposing(after, sized), until)
        proofs = {}
        for condition in sized:
            without = _supposing(after, [c for c in sized if c != condition])
            gained = proved - _proved(without, until)
            if time.monotonic() > until:
                break
            if gained:
                proofs[condition] = _sentence(gained)
    except (ProgramError, UnreadableError, SolverMissingError):
        return {}
    return proofs


def _is_of_sizes(condition: str, state: State) -> bool:
    """Whether the solver's language says it, of the workload's sizes alone."""
    reading = Reading(state.dims)
    reading.read(condition)
    return not reading.unknowns


def _supposing(state: State, conditions: Sequence[str]) -> State:
    return reduce(State.supposing, conditions, state)


def _proved(state: State, until: float) -> frozenset[_Place]:
    """Places of which every obligation is proved."""
    status: dict[_Place, bool] = {}
    for obligation in _obligations(state):
        place = (str(obligation.kind), obligation.line, obligation.root)
        status[place] = status.get(place, True) and obligation.status is Status.PROVED
        if time.monotonic() > until:
            return frozenset()
    return frozenset(place for place, proved in status.items() if proved)


def _obligations(state: State) -> Iterator[Obligation]:
    yield from in_bounds(state.questions)
    yield from written(state.questions)


_WORDS: Mapping[str, str] = {
    "in_bounds": "the access of line {} to {} lies within it",
    "written": "every element of {1} is written",
}


def _sentence(places: frozenset[_Place]) -> str:
    parts = [_WORDS[kind].format(line, root) for kind, line, root in sorted(places)]
    return "with it, and not without it, it is proved for all sizes that " + "; ".join(parts[:3])
