"""A model in its setting as questions to the solver, and the smallest values that answer one with no."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kernel_lineage.proofs.model import Model
from kernel_lineage.proofs.obligations.obligation import Counterexample, Status
from kernel_lineage.proofs.setting import Setting
from kernel_lineage.solving.solver import Answer, Decision, decide
from kernel_lineage.solving.terms import FALSE, TRUE, Num, Term, Var, at_most, substituted

LIMIT_MS = 5_000
_STEP_MS = 500
_QUICK_MS = 250
_CAPS = (1, 2, 3, 4, 5, 8, 16, 17, 32, 33, 64, 65, 128, 129, 256, 257, 512, 1024, 4096,
         *(1 << bits for bits in (14, 16, 18, 20, 22, 24, 26, 28, 30, 31)))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """How one question ended."""

    status: Status
    reason: str = ""
    values: Mapping[str, int] = field(default_factory=dict)
    """Of a refutation."""


@dataclass
class Questions:
    """One kernel in one setting."""

    model: Model
    setting: Setting
    limit_ms: int = LIMIT_MS
    asked: int = 0

    def assumptions(self, *terms: Term) -> list[Term]:
        """What may be taken for granted wherever these terms are spoken of."""
        given = (*self.setting.assumptions, *terms)
        sizes = [at_most(Num(1), Var(dim)) for dim in self.setting.dims]
        return [*sizes, *self.setting.assumptions, *self.model.facts(given)]

    def ask(
        self, path: Sequence[Term], claim: Term, *, more: Sequence[Term] = (), places: bool = True
    ) -> Asked:
        """Whether a claim holds on a path for all sizes, threads and iterations; else the smallest sizes that break it.

        With `places` the block and thread of a refutation are the smallest ones too.
        """
        if claim == Num(1):
            return Asked(Status.PROVED)
        given = [*self.assumptions(*path, claim, *more), *path, *more]
        # Most of what holds is seen at once, and most of what fails does so at small sizes: the rest may take its time.
        answer = self._decide(given, claim, min(_QUICK_MS, self.limit_ms))
        small = self._smallest(given, claim, answer, places=places)
        if small.decision is Decision.UNDECIDED and self.limit_ms > _QUICK_MS:
            answer = self._decide(given, claim, self.limit_ms)
            small = self._smallest(given, claim, answer, places=places) if answer.values else answer
        if small.decision is not Decision.REFUTED:
            return Asked(Status(small.decision.value), small.reason)
        if doubts := list(dict.fromkeys(self.model.doubts(*path, claim, *given))):
            return Asked(Status.UNDECIDED, f"not known: {doubts[0]}")
        return Asked(Status.REFUTED, "", small.values)

    def _decide(self, given: Sequence[Term], claim: Term, limit_ms: int) -> Answer:
        self.asked += 1
        naturals = self.model.naturals | set(self.setting.dims)
        return decide(given, claim, limit_ms=limit_ms, never_negative=naturals)

    def _smallest(self, given: Sequence[Term], claim: Term, first: Answer, *, places: bool) -> Answer:
        """The least sizes, then the least block and thread, as far as a few quick questions tell.

        At sizes that are numbers a question has no products of variables, which is what makes it quick.
        """
        if first.decision is Decision.PROVED:
            return first
        dims = self.setting.dims
        deadline = time.monotonic() + self.limit_ms / 1000
        worst = max((first.values.get(d, 1) for d in dims), default=1) if first.values else None
        best = first
        for cap in _CAPS:
            if time.monotonic() > deadline or (worst is not None and cap >= worst):
                break
            if (found := self._at(given, claim, dict.fromkeys(dims, cap))) is not None:
                best = found
                break
        if best.decision is not Decision.REFUTED:
            return best
        for dim in dims:
            best = self._least(given, claim, dim, 1, best, deadline)
        for place in sorted(self.model.places) if places else ():
            best = self._least(given, claim, place, 0, best, deadline)
        return best

    def _at(self, given: Sequence[Term], claim: Term, fixed: Mapping[str, int]) -> Answer | None:
        """Values that break the claim while some variables are these numbers; None when none are found quickly."""
        numbers = {name: Num(value) for name, value in fixed.items()}
        kept = [substituted(g, numbers) for g in given]
        if FALSE in kept:
            return None
        answer = self._decide([g for g in kept if g != TRUE], substituted(claim, numbers), _STEP_MS)
        if answer.decision is not Decision.REFUTED:
            return None
        return replace(answer, values={**answer.values, **fixed})

    def _least(
        self, given: Sequence[Term], claim: Term, name: str, low: int, best: Answer, deadline: float
    ) -> Answer:
        """The least value of one variable, all sizes and the places before it as they are."""
        fixed = {d: best.values.get(d, 1) for d in self.setting.dims}
        if name not in fixed:
            fixed |= {p: best.values.get(p, 0) for p in self.model.places if p < name}
        high = best.values.get(name, low)
        while low < high and time.monotonic() < deadline:
            middle = (low + high) // 2
            within = given if name in self.setting.dims else [*given, at_most(Var(name), Num(middle))]
            pinned = {**fixed, name: middle} if name in self.setting.dims else fixed
            if (found := self._at(within, claim, pinned)) is not None:
                best, high = found, found.values.get(name, low)
            else:
                low = middle + 1
        return best

    def counterexample(
        self,
        values: Mapping[str, int],
        buffer: str | None = None,
        element: Term | None = None,
        note: str = "",
    ) -> Counterexample:
        """A refutation's values as sizes, block, thread and element."""

        def three(what: str) -> tuple[int, int, int]:
            x, y, z = (values.get(f"{what}.{axis}", 0) for axis in "xyz")
            return x, y, z

        index = evaluated(element, values) if element is not None else None
        dims = {d: values.get(d, 1) for d in self.setting.dims}
        return Counterexample(dims, three("blockIdx"), three("threadIdx"), buffer, index, note)


def evaluated(term: Term, values: Mapping[str, int]) -> int | None:
    """The value of a term; None when a variable has none."""
    number = substituted(term, {name: Num(value) for name, value in values.items()})
    return number.value if isinstance(number, Num) else None
