"""Sizes that no run reaches: where a launch no longer fits a device, or an address's arithmetic its type.

Both follow from the text of a state and its workload: at given sizes by exact arithmetic, for all sizes by a solver.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log2, prod
from pathlib import Path

from kernel_gate.expr.parsing import Reading
from kernel_gate.expr.solver import Decision, decide, values_for
from kernel_gate.expr.terms import FALSE, TRUE, Num, Term, Var, substituted
from kernel_gate.program import Program
from kernel_gate.workload import Workload
from kernel_lineage.code.setting import MAX_GRID
from kernel_lineage.learning.probes.axis import Ground
from kernel_lineage.learning.probes.setting import facts_of
from kernel_lineage.proofs.obligations.asking import Questions, evaluated
from kernel_lineage.proofs.obligations.obligation import Status
from kernel_lineage.proofs.obligations.overflow import Fitting, buffers_fit, fittings
from kernel_lineage.proofs.prove import read_model
from kernel_lineage.rewrite.proving.prove import kernel_of, line_map
from kernel_lineage.rewrite.proving.setting import launchable, setting_of

_STEP_MS = 2_000
_BITS = 3.0
"""Sizes are drawn up to so many powers of two on both sides of where something fails."""
_TRIES = 400


@dataclass(frozen=True)
class State:
    """One state of a step, as what can be asked of it."""

    workload: Workload
    questions: Questions

    @property
    def dims(self) -> Mapping[str, Term]:
        """The workload's sizes as variables."""
        return {name: Var(name) for name in self.workload.dims}

    @cached_property
    def fit(self) -> list[Term]:
        """That its buffers fit a device."""
        return buffers_fit(self.questions)

    @cached_property
    def fittings(self) -> list[Fitting]:
        """Its accesses whose addresses 32-bit integers are computed for."""
        return list(fittings(self.questions))

    def supposing(self, text: str) -> State:
        """The same, with one more promise of its callers."""
        reading = Reading(self.dims)
        setting = self.questions.setting
        more = replace(setting, assumptions=(*setting.assumptions, reading.read(text), *reading.facts))
        return replace(self, questions=replace(self.questions, setting=more))

    def of_any_launch(self) -> State:
        """The same, of callers who do not know what launches a device takes."""
        setting = self.questions.setting
        limits = set(launchable(setting.launch))
        free = replace(setting, assumptions=tuple(a for a in setting.assumptions if a not in limits))
        return replace(self, questions=replace(self.questions, setting=free))

    def launches_at(self, dims: Mapping[str, int]) -> bool | None:
        """Whether a device takes its grid at some sizes; None when that cannot be computed."""
        extents = [evaluated(extent, dims) for extent in self.questions.setting.launch.grid]
        if any(e is None for e in extents):
            return None
        return all(1 <= (e or 0) <= most for e, most in zip(extents, MAX_GRID, strict=True))

    def overflowing(self, fitting: Fitting) -> tuple[Status, Mapping[str, int], str]:
        """Whether an address can leave its type; the smallest sizes at which it does, or why that is open."""
        asked = fitting.asked(self.questions, self.fit)
        return asked.status, asked.values, asked.reason

    def overflows_at(self, dims: Mapping[str, int], among: Sequence[Fitting]) -> bool | None:
        """Whether some address's arithmetic leaves its type at these sizes; None: no such call, or not decided."""
        numbers = {name: Num(value) for name, value in dims.items()}
        at = [substituted(t, numbers) for t in (*self.questions.assumptions(), *self.fit)]
        if (
            FALSE in at
            or values_for([t for t in at if t != TRUE], limit_ms=_STEP_MS).decision is not Decision.REFUTED
        ):
            return None  # no caller comes with such sizes
        open_ = False
        for fitting in among:
            path = fitting.path
            premises = [*self.questions.assumptions(*path, fitting.claim, *self.fit), *path, *self.fit]
            here = [substituted(t, numbers) for t in premises]
            if FALSE in here:
                continue
            answer = decide(
                [t for t in here if t != TRUE], substituted(fitting.claim, numbers), limit_ms=_STEP_MS
            )
            if answer.decision is Decision.REFUTED:
                return True
            open_ |= answer.decision is Decision.UNDECIDED
        return None if open_ else False


def state_of(program: Program, workload: Workload) -> State:
    """A state to ask. Raises `ProgramError` and `UnreadableError`."""
    kernel = kernel_of(program, program.entry, Path(program.name))
    setting = setting_of(kernel, workload, program)
    lines = line_map(program.source) if program.language == "cuda" else {}
    return State(workload, Questions(read_model(kernel, setting, lines), setting))


def drawn(
    ground: Ground, moved: Sequence[str], around: Mapping[str, int], chance: random.Random
) -> Iterator[dict[str, int]]:
    """Sizes whose product over some dims lies on both sides of that of `around`, all others as in the base."""
    base = ground.base
    middle = log2(prod(around[name] for name in moved))
    for _ in range(_TRIES):
        weights = [chance.uniform(0.05, 1.0) for _ in moved]
        bits = max(0.0, middle + chance.uniform(-_BITS, _BITS))
        dims = dict(base.dims)
        for name, weight in zip(moved, weights, strict=True):
            size = max(1, int(2 ** (bits * weight / sum(weights))))
            dims[name] = size - size % chance.choice((1, 8, 128)) or size
        if base.workload.keeps_promises(dims) and _as_known(ground, dims):
            yield dims


def _as_known(ground: Ground, dims: Mapping[str, int]) -> bool:
    """Whether what other axes have found holds, as far as sizes tell."""
    return not ground.explains(facts_of(ground.base.at(**dims)))
