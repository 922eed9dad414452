"""Whether assumptions imply a claim, and the smallest values that break it as far as quick questions find them.

The one policy for all that is asked: what holds is mostly seen at once; what fails mostly fails at small sizes, and at
sizes that are numbers a question has no products of variables, which is what makes it quick; the rest gets its time.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kernel_gate.expr.solver import LIMIT_MS, Answer, Decision, decide
from kernel_gate.expr.terms import FALSE, TRUE, Num, Term, Var, at_most, substituted

_QUICK_MS = 250
_STEP_MS = 500
_CAPS = (1, 2, 3, 4, 5, 8, 16, 17, 32, 33, 64, 65, 128, 129, 256, 257, 512, 1024, 4096,
         *(1 << bits for bits in (14, 16, 18, 20, 22, 24, 26, 28, 30, 31)))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Question:
    """A claim under assumptions, and which variables are to be small when it fails."""

    given: Sequence[Term]
    claim: Term
    sizes: Sequence[str] = ()
    """Tried at 1, 2, 3 … together, then each is lessened; at least 1 where values of that kind break the claim."""
    places: Sequence[str] = ()
    """Lessened after the sizes; at least 0."""
    never_negative: frozenset[str] = frozenset()

    def decided(self, limit_ms: int) -> Answer:
        """Whatever answer there is within the limit."""
        return decide(self.given, self.claim, limit_ms=limit_ms, never_negative=self.never_negative)

    def at(self, fixed: Mapping[str, int], more: Iterable[Term] = ()) -> Answer | None:
        """Values that break the claim while some variables are these numbers; None when none are found quickly."""
        numbers = {name: Num(value) for name, value in fixed.items()}
        kept = [substituted(g, numbers) for g in (*self.given, *more)]
        if FALSE in kept:
            return None
        claim = substituted(self.claim, numbers)
        premises = [g for g in kept if g != TRUE]
        answer = decide(premises, claim, limit_ms=_STEP_MS, never_negative=self.never_negative)
        if answer.decision is not Decision.REFUTED:
            return None
        return replace(answer, values={**answer.values, **fixed})


def answered(question: Question, limit_ms: int = LIMIT_MS) -> Answer:
    """Proved, refuted with small values, or not decided. Raises `SolverMissingError`."""
    if not question.sizes:  # no size is tried where the quick question is open
        return _smallest(question, question.decided(limit_ms), limit_ms)
    answer = question.decided(min(_QUICK_MS, limit_ms))
    small = _smallest(question, answer, limit_ms)
    if small.decision is Decision.UNDECIDED and limit_ms > _QUICK_MS:
        answer = question.decided(limit_ms)
        small = _smallest(question, answer, limit_ms) if answer.values else answer
    return small


def _smallest(question: Question, first: Answer, limit_ms: int) -> Answer:
    if first.decision is Decision.PROVED:
        return first
    deadline = time.monotonic() + limit_ms / 1000
    worst = max((first.values.get(s, 1) for s in question.sizes), default=1) if first.values else None
    best = first
    for cap in _CAPS if question.sizes else ():
        if time.monotonic() > deadline or (worst is not None and cap >= worst > 0):
            break
        if (answer := question.at(dict.fromkeys(question.sizes, cap))) is not None:
            best = answer
            break
    if best.decision is not Decision.REFUTED:
        return best
    if any(best.values.get(s, 1) < 1 for s in question.sizes):
        positive = question.at({}, [at_most(Num(1), Var(s)) for s in question.sizes])
        best = positive if positive is not None else best
    for size in question.sizes:
        best = _least(question, size, 1, best, deadline)
    for place in question.places:
        best = _least(question, place, 0, best, deadline)
    return best


def _least(question: Question, name: str, low: int, best: Answer, deadline: float) -> Answer:
    """The least value of one variable, all sizes and the places before it as they are."""
    fixed = {s: best.values.get(s, 1) for s in question.sizes}
    is_size = name in fixed
    if not is_size:
        before = question.places[: list(question.places).index(name)]
        fixed |= {p: best.values.get(p, 0) for p in before}
    high = best.values.get(name, low)
    while low < high and time.monotonic() < deadline:
        middle = (low + high) // 2
        if is_size:
            answer = question.at({**fixed, name: middle})
        else:
            answer = question.at(fixed, [at_most(Var(name), Num(middle))])
        if answer is not None:
            best, high = answer, answer.values.get(name, low)
        else:
            low = middle + 1
    return best
