"""What to try next: strategies of a kernel's state, the likeliest to be worth it first, each with its reason.

The score of a strategy is the share of the steps that could add it and did, raised or lowered by the mechanisms that
were there when it was added, by what was measured, and by what limits the kernel. The order in which these mechanisms came
does not count (tests/benchmarks/results/ranking.md). The same graph and state always give the same order.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kernel_lineage.skills.graph.model import (
    REJECTED,
    TAKEN_BACK,
    Effect,
    Graph,
    direction_of,
    strategies_of,
)

ELSEWHERE = 0.2
"""What a step in another language counts."""
_FEW = 30.0
"""A mechanism that others came to this often is believed as much as what comes anywhere."""
_COMPANY = 0.2
"""How much each mechanism that is there moves a score: the exponent of its factor."""
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
    """Strategy → how the bottleneck moves it (`graph/rules.py`)."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A strategy with its score and what decided it, in one clause."""

    strategy: str
    direction: str
    score: float
    reason: str


def rank(graph: Graph, state: State, among: Iterable[str] | None = None) -> tuple[Ranked, ...]:
    """The strategies that the kernel does not have yet (of `among`, when given), best first."""
    weighed = _Weighed(graph, state)
    wanted = strategies_of(state.language) if among is None else sorted(set(among))
    found = [weighed.ranked(s) for s in wanted if s not in state.mechanisms]
    return tuple(sorted(found, key=lambda r: (-r.score, r.strategy)))


class _Weighed:
    """The graph's counts as they weigh for one state."""

    def __init__(self, graph: Graph, state: State) -> None:
        self._graph, self._state = graph, state
        self._added = {n: s.added.of(state.language, ELSEWHERE) for n, s in graph.strategies.items()}
        self._all = sum(self._added.values()) or 1.0
        self._beside = {k: t.of(state.language, ELSEWHERE) for k, t in graph.company.items()}
        self._beside_any: dict[str, float] = defaultdict(float)
        for (present, _), count in self._beside.items():
            self._beside_any[present] += count

    def ranked(self, strategy: str) -> Ranked:
        node = self._graph.strategies.get(strategy)
        added = self._added.get(strategy, 0.0)
        could = node.could.of(self._state.language, ELSEWHERE) if node else 0.0
        score = (added + 0.05) / (could + 2.0)
        effect = _measured(node.effects if node else (), self._state.device)
        factor = self._state.factors.get(strategy, 1.0)
        score *= self._company(strategy) ** _COMPANY * effect * factor
        reason = self._reason(strategy, added, could)
        return Ranked(strategy, direction_of(strategy), round(score, 6), reason)

    def _company(self, strategy: str) -> float:
        """How much likelier the strategy is beside each mechanism that is there than anywhere, all multiplied."""
        share = (self._added.get(strategy, 0.0) + 0.01) / (self._all + 1.0)
        total = 0.0
        for present in sorted(self._state.mechanisms):
            together = self._beside.get((present, strategy), 0.0)
            total += math.log((together + _FEW * share) / (self._beside_any[present] + _FEW) / share)
        return math.exp(total)

    def _reason(self, strategy: str, added: float, could: float) -> str:
        node = self._graph.strategies.get(strategy)
        if node is None or not node.transitions:
            return "no lineage that is known here has added it"
        share = 100 * added / could if could else 0.0
        said = f"{len(node.transitions)} steps added it, {share:.0f} % of those that could"
        against = sum(node.risks.get(kind, 0) for kind in (*TAKEN_BACK, REJECTED))
        if against:
            said += f"; {against} taken back, rejected or not faster"
        best = max(node.effects, key=lambda e: (e.device == self._state.device, e.speedup), default=None)
        if best is not None:
            said += f"; measured {best.speedup:.2f}× on {best.device}"
        return said


def _measured(effects: Sequence[Effect], device: str) -> float:
    """The geometric mean of what was measured, on this device fully and elsewhere by half; 1 without a measurement."""
    if not effects:
        return 1.0
    weights = [1.0 if e.device == device else _OTHER_DEVICE for e in effects]
    mean = sum(w * math.log(e.speedup) for w, e in zip(weights, effects, strict=True)) / len(effects)
    return min(_MOST, max(1 / _MOST, math.exp(mean)))
