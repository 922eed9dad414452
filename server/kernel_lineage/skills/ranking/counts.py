"""Observed steps → how often each strategy was added, of the steps that could have added it.

A strategy is a mechanism (`kernels/mechanisms`). Nothing here knows git: a step is told by whoever saw it, in a mined
history or as a verdict of the gate. The order of the steps does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import BaseModel

from kernel_lineage.kernels.mechanisms.model import BACKGROUND
from kernel_lineage.kernels.mechanisms.registry import mechanisms

REJECTED = "rejected"
"""The risk of an outcome that the gate rejected."""
TAKEN_BACK = ("revert", "slower", "no_difference")
"""Kinds of risk that say that a step did not pay."""
FAR_COUNTS = 0.25
"""What a step of another repository counts beside those of the one at hand."""
_TAKEN_BACK_COUNTS = 0.25
_REPEATED_COUNTS = 0.25
_JUDGED_COUNTS = 2.0
"""A verdict of the gate says more than a commit."""
_DIGITS = 4


class Effect(BaseModel):
    """A measured effect: time before over time after."""

    speedup: float
    device: str


@dataclass(frozen=True, slots=True)
class Observation:
    """One step of a kernel that added strategies, or tried to."""

    id: str
    """The id of the transition, or of the outcome."""
    language: str
    before: frozenset[str]
    """Mechanisms that were there."""
    added: tuple[str, ...]
    judged: bool = False
    """Whether the gate tried it, where others were seen in a history."""
    risks: tuple[str, ...] = ()
    """Kinds of what was later said against it: `revert`, `bug`, `slower`, `rejected`, …"""
    effect: Effect | None = None
    near: bool = True
    """Whether it comes from the repository at hand."""
    alike: str = ""
    """Steps of one commit share this: the same strategy in several kernels is one decision."""


class Strategy(BaseModel):
    """What was seen of a mechanism; weighted counts by language."""

    added: dict[str, float] = {}
    could: dict[str, float] = {}
    """Steps before which it was not there."""
    steps: int = 0
    """That added it, each counted once."""
    effects: tuple[Effect, ...] = ()
    risks: dict[str, int] = {}
    """Kind of what was said against it → in how many of its steps."""


class Counts(BaseModel):
    """What was seen of each strategy, by its id."""

    version: int = 1
    steps: int = 0
    strategies: dict[str, Strategy] = {}


def counted(observations: Iterable[Observation]) -> Counts:
    """The counts of what was seen. Every observation also says which strategies could have been added and were not."""
    counts = Counts()
    seen: set[tuple[str, str]] = set()
    for observed in sorted(observations, key=lambda o: (o.id, o.added)):
        counts.steps += 1
        _could(counts, observed)
        for strategy in observed.added:
            repeated = bool(observed.alike) and (observed.alike, strategy) in seen
            seen.add((observed.alike, strategy))
            _add(counts, observed, strategy, weight_of(observed) * (_REPEATED_COUNTS if repeated else 1.0))
    return counts


def weight_of(observed: Observation) -> float:
    """What one step counts: little when it was taken back, nothing when the gate rejected it, more when it accepted."""
    if REJECTED in observed.risks:
        return 0.0
    weight = _JUDGED_COUNTS if observed.judged else 1.0
    if not set(TAKEN_BACK).isdisjoint(observed.risks):
        weight *= _TAKEN_BACK_COUNTS
    return weight * (1.0 if observed.near else FAR_COUNTS)


def _could(counts: Counts, observed: Observation) -> None:
    rejected = REJECTED in observed.risks
    chance = (1.0 if observed.near else FAR_COUNTS) * (_JUDGED_COUNTS if rejected else 1.0)
    for strategy in observed.added if rejected else strategies_of(observed.language):
        if strategy not in observed.before:
            _count(_of(counts, strategy).could, observed.language, chance)


def _add(counts: Counts, observed: Observation, strategy: str, weight: float) -> None:
    node = _of(counts, strategy)
    _count(node.added, observed.language, weight)
    node.steps += 1
    for kind in sorted(set(observed.risks)):
        node.risks[kind] = node.risks.get(kind, 0) + 1
    if observed.effect is not None:
        node.effects += (observed.effect,)


def _of(counts: Counts, strategy: str) -> Strategy:
    return counts.strategies.setdefault(strategy, Strategy())


def _count(counts: dict[str, float], language: str, weight: float) -> None:
    counts[language] = round(counts.get(language, 0.0) + weight, _DIGITS)


def joined(own: Counts, elsewhere: Counts) -> Counts:
    """Counts of `own` whole, those of `elsewhere` by `FAR_COUNTS`; steps, effects and risks of both."""
    total = Counts(steps=own.steps + elsewhere.steps)
    for part, weight in ((own, 1.0), (elsewhere, FAR_COUNTS)):
        for name, seen in part.strategies.items():
            node = _of(total, name)
            for counts, more in ((node.added, seen.added), (node.could, seen.could)):
                for language, count in more.items():
                    _count(counts, language, weight * count)
            for kind, times in seen.risks.items():
                node.risks[kind] = node.risks.get(kind, 0) + times
            node.steps += seen.steps
            node.effects += seen.effects
    return total


def direction_of(strategy: str) -> str:
    """What a strategy works on; "other" for one that is not known any more."""
    mechanism = mechanisms().get(strategy)
    return mechanism.direction.value if mechanism is not None else "other"


def strategies_of(language: str) -> tuple[str, ...]:
    """Every strategy that a kernel of a language can have, in the order of ids."""
    return tuple(m.id for m in mechanisms().values() if language in m.languages and m.id not in BACKGROUND)
