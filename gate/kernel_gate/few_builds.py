"""Cases that share builds: every shape of a Triton program that changes a constant is a compilation of its own."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from kernel_gate.build.unit import Unit
from kernel_gate.cases import Case
from kernel_gate.launching import LaunchError, bind
from kernel_gate.program import Program
from kernel_gate.workload import Workload

_MOST_UNITS = 8
"""Images of one program: a compilation takes half a second to several seconds."""


def sharing_builds(
    cases: Sequence[Case], workload: Workload, programs: Sequence[Program], seed: int
) -> tuple[list[Case], list[Case]]:
    """The cases to run, in their order, and those that are left out because their images would be too many.

    Required cases stay, and all that need no image beyond theirs. Of the others the shape that changes most dims comes
    first, then any: which ones is drawn from the seed, so that over many checks all are run.
    """
    asked = [p for p in programs if p.language == "triton"]
    needed = {number: _units(case, workload, asked) for number, case in enumerate(cases)}
    built = set[tuple[int, Unit]]().union(*(needed[n] for n, case in enumerate(cases) if case.required))
    usual = next((case.dims for case in cases if case.required), dict[str, int]())
    drawn, most = random.Random(seed), _MOST_UNITS * len(asked)
    order = sorted(needed, key=lambda n: (-_changed(cases[n], usual), drawn.random()))
    left_out = set[int]()
    for number in order:
        if len(built | needed[number]) <= most:
            built |= needed[number]
        elif not needed[number] <= built:
            left_out.add(number)
    kept = [case for number, case in enumerate(cases) if number not in left_out]
    return kept, [cases[number] for number in sorted(left_out)]


def _units(case: Case, workload: Workload, programs: Sequence[Program]) -> set[tuple[int, Unit]]:
    """The images that a case takes, each with its program's number; none where it cannot be bound."""
    applied = case.applied(workload)
    try:
        return {
            (n, x.unit)
            for n, p in enumerate(programs)
            for x in bind(applied, p, case.dims, case.memory).launches
        }
    except LaunchError:
        return set()


def _changed(case: Case, usual: Mapping[str, int]) -> int:
    """In how many dims a case differs from the usual shape."""
    return sum(extent != usual.get(name) for name, extent in case.dims.items())
