"""What to try next: strategies of a kernel's state, the likeliest to be worth it first, each with its reason.

The score of a strategy is the share of the steps that could add it and did, raised or lowered by what was measured and
by what limits the kernel. What came before, and what is there beside it, do not count: both foretold the next step of
a lineage less well than this share alone (tests/benchmarks/results/ranking.md). The same counts and state always give
the same order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kernel_lineage.skills.ranking.counts import REJECTED, TAKEN_BACK, Counts, Effect, Strategy, strategies_of

ELSEWHERE = 0.2
"""What a step in another language counts."""
_OTHER_DEVICE = 0.5
"""What an effect that was measured elsewhere counts, as an exponent."""
_MOST = 2.0
"""The most that measured effects move a score by, either way."""


@dataclass(frozen=True, slots=True)
class State:
    """What is known of a kernel when something is offered for it."""

    language: str
    mechanisms: frozenset[str]
    device: str = ""
    """Its name; "" when there is none."""
    factors: Mapping[str, float] = field(default_factory=dict)
    """Strategy → how the bottleneck moves it (`ranking/rules.py`)."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A strategy with its score and what decided it, in one clause."""

    strategy: str
    score: float
    reason: str


def rank(counts: Counts, state: State, among: Iterable[str] | None = None) -> tuple[Ranked, ...]:
    """The strategies that the kernel does not have yet (of `among`, when given), best first."""
    wanted = strategies_of(state.language) if among is None else sorted(set(among))
    ranking = [
        _ranked(s, counts.strategies.get(s, Strategy()), state) for s in wanted if s not in state.mechanisms
    ]
    return tuple(sorted(ranking, key=lambda r: (-r.score, r.strategy)))


def _ranked(strategy: str, seen: Strategy, state: State) -> Ranked:
    added, could = _weighed(seen.added, state.language), _weighed(seen.could, state.language)
    score = (added + 0.05) / (could + 2.0)
    score *= _measured(seen.effects, state.device) * state.factors.get(strategy, 1.0)
    return Ranked(strategy, round(score, 6), _reason(seen, added, could, state.device))


def _weighed(counts: Mapping[str, float], language: str) -> float:
    """What counts for a kernel of this language: its own, and a share of the others'."""
    own = counts.get(language, 0.0)
    return own + ELSEWHERE * (sum(counts.values()) - own)


def _reason(seen: Strategy, added: float, could: float, device: str) -> str:
    if not seen.steps:
        return "no lineage that is known here has added it"
    share = 100 * added / could if could else 0.0
    reason = f"{seen.steps} steps added it, {share:.0f} % of those that could"
    against = sum(seen.risks.get(kind, 0) for kind in (*TAKEN_BACK, REJECTED))
    if against:
        reason += f"; {against} taken back, rejected or not faster"
    best = max(seen.effects, key=lambda e: (e.device == device, e.speedup), default=None)
    if best is not None:
        reason += f"; measured {best.speedup:.2f}× on {best.device}"
    return reason


def _measured(effects: Sequence[Effect], device: str) -> float:
    """The geometric mean of what was measured, on this device fully and elsewhere by half; 1 without a measurement."""
    if not effects:
        return 1.0
    weights = [1.0 if e.device == device else _OTHER_DEVICE for e in effects]
    mean = sum(w * math.log(e.speedup) for w, e in zip(weights, effects, strict=True)) / len(effects)
    return min(_MOST, max(1 / _MOST, math.exp(mean)))
