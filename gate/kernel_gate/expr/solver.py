"""Whether assumptions imply a claim, by Z3 (the extra `prove`): proved, refuted with values, or not decided.

Numbers are mathematical integers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from kernel_gate.expr.divisibility import divided
from kernel_gate.expr.lemmas import product_lemmas
from kernel_gate.expr.stopping import interruptible
from kernel_gate.expr.terms import Term, negation
from kernel_gate.expr.translation import Translation

LIMIT_MS = 5_000
_BUSY, _MOST_TIMES = 0.8, 8.0
"""The share of the clock below which others had the processor; how many times the limit is then, at most."""
_KEPT = 512
"""Questions whose answers are kept."""
MISSING = "z3 is not installed (pip install 'kernel-lineage[prove]')"


class SolverMissingError(Exception):
    """Z3 is not installed; the message says how to get it."""


class Decision(StrEnum):
    """How a question ended."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Answer:
    """A decision with what supports it."""

    decision: Decision
    values: Mapping[str, int] = field(default_factory=dict)
    """A refutation's values of all variables: they keep the assumptions and break the claim."""
    reason: str = ""


_Key = tuple[tuple[Term, ...], Term, frozenset[str]]
"""Assumptions, claim, and the variables that are never negative."""


class _Decided:
    """What was decided last: a proof and a refutation hold whenever the same is asked, and whatever the limit is."""

    def __init__(self) -> None:
        self._answers: dict[_Key, Answer] = {}
        self._lock = threading.Lock()

    def get(self, key: _Key) -> Answer | None:
        """The answer to a question, if it is kept."""
        return self._answers.get(key)

    def keep(self, key: _Key, answer: Answer) -> None:
        """Keep an answer, unless the question is open."""
        if answer.decision is Decision.UNDECIDED:
            return
        with self._lock:
            self._answers[key] = answer
            while len(self._answers) > _KEPT:
                del self._answers[next(iter(self._answers))]


_DECIDED = _Decided()


def decide(
    assumptions: Sequence[Term], claim: Term, *, limit_ms: int = LIMIT_MS, never_negative: Iterable[str] = ()
) -> Answer:
    """Whether every assignment that keeps all assumptions satisfies the claim. Raises `SolverMissingError`."""
    key = (tuple(assumptions), claim, frozenset(never_negative))
    if (kept := _DECIDED.get(key)) is not None:
        return kept
    asked = divided([*assumptions, negation(claim)])
    lemmas = product_lemmas(asked.conditions, asked.never_negative(key[2]))
    answer = values_for(asked.conditions, limit_ms=limit_ms, lemmas=lemmas)
    answer = replace(answer, values=asked.values(answer.values)) if answer.values else answer
    _DECIDED.keep(key, answer)
    return answer


def values_for(
    conditions: Sequence[Term], *, limit_ms: int = LIMIT_MS, lemmas: Sequence[Term] = ()
) -> Answer:
    """`REFUTED` with values that keep all conditions, `PROVED` when there are none. Raises `SolverMissingError`."""
    try:
        import z3
    except ImportError as error:
        raise SolverMissingError(MISSING) from error
    translation = Translation(z3)
    solver = z3.Solver(ctx=translation.context)
    for condition in (*conditions, *lemmas):
        solver.add(translation.truth(condition))
    solver.add(*translation.definitions)
    started = time.monotonic()
    with interruptible(translation.context):
        answer = _checked(solver, limit_ms)
    if answer == z3.unsat:
        return Answer(Decision.PROVED)
    if answer == z3.unknown:
        return Answer(
            Decision.UNDECIDED,
            reason=f"not decided by Z3 within {max(limit_ms / 1000, time.monotonic() - started):.2g} s",
        )
    if translation.approximated:
        return Answer(Decision.UNDECIDED, reason=f"the bits of `{translation.approximated[0]}` decide it")
    model = solver.model()
    values = {
        name: model.eval(variable, model_completion=True).as_long()
        for name, variable in translation.variables.items()
    }
    return Answer(Decision.REFUTED, values)


def _checked(solver: Any, limit_ms: int) -> Any:
    """What Z3 says within a limit by the clock; where others took the processor meanwhile, it is asked once more."""
    limit_ms = max(1, limit_ms)
    solver.set("timeout", limit_ms)
    clock, processor = time.monotonic(), time.thread_time()
    answer = solver.check()
    took, used = time.monotonic() - clock, time.thread_time() - processor
    if str(answer) == "unknown" and took > 0.9 * limit_ms / 1000 and used < _BUSY * took:
        solver.set("timeout", int(limit_ms * min(_MOST_TIMES, took / max(used, 0.001))))
        answer = solver.check()
    return answer
