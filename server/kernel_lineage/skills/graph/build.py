"""Observed steps → the transition graph. The order of the steps does not matter."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from kernel_lineage.skills.graph.model import (
    REJECTED,
    START,
    TAKEN_BACK,
    Edge,
    Effect,
    Graph,
    Observation,
    Source,
    Strategy,
    Tally,
    strategies_of,
)

NEAR = 0.5
"""What a strategy counts for each step further back in the history."""
REACH = 4
"""How many steps back an edge is counted."""
_TAKEN_BACK_COUNTS = 0.25
_REPEATED_COUNTS = 0.25
_ACCEPTED_COUNTS = 2.0
"""A verdict of the gate says more than a commit."""
FAR_COUNTS = 0.25
"""What a step of another repository counts beside those of the one at hand."""
_DIGITS = 4


def build(observations: Iterable[Observation]) -> Graph:
    """The graph of what was seen. Every observation also says which strategies could have been added and were not."""
    ordered = sorted(observations, key=lambda o: (o.id, o.added))
    gathered = _Gathered()
    seen: set[tuple[str, str]] = set()
    for observed in ordered:
        gathered.could(observed)
        for strategy in observed.added:
            repeated = bool(observed.alike) and (observed.alike, strategy) in seen
            seen.add((observed.alike, strategy))
            gathered.add(observed, strategy, weight_of(observed) * (_REPEATED_COUNTS if repeated else 1.0))
    sources = Counter(o.source.value for o in ordered)
    return Graph(gathered.strategies(), gathered.edges(), gathered.beside(), len(ordered), dict(sorted(sources.items())))


def weight_of(observed: Observation) -> float:
    """What one step counts: little when it was taken back, nothing when the gate rejected it, more when it accepted."""
    if REJECTED in observed.risks:
        return 0.0
    weight = _ACCEPTED_COUNTS if observed.source is Source.OUTCOME else 1.0
    if not set(TAKEN_BACK).isdisjoint(observed.risks):
        weight *= _TAKEN_BACK_COUNTS
    return weight * (1.0 if observed.near else FAR_COUNTS)


@dataclass
class _Seen:
    languages: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    times: int = 0
    effects: list[Effect] = field(default_factory=list)
    risks: Counter[str] = field(default_factory=Counter)
    transitions: list[str] = field(default_factory=list)

    def take(self, observed: Observation, weight: float, *, direct: bool = True) -> None:
        self.languages[observed.language] += weight
        if not direct:
            return
        self.times += 1
        self.risks.update(set(observed.risks))
        self.transitions.append(observed.id)
        if observed.effect is not None:
            self.effects.append(observed.effect)


@dataclass
class _Gathered:
    nodes: dict[str, _Seen] = field(default_factory=lambda: defaultdict(_Seen))
    chances: dict[str, _Seen] = field(default_factory=lambda: defaultdict(_Seen))
    joins: dict[tuple[str, str], _Seen] = field(default_factory=lambda: defaultdict(_Seen))
    company: dict[tuple[str, str], _Seen] = field(default_factory=lambda: defaultdict(_Seen))

    def could(self, observed: Observation) -> None:
        chance = 1.0 if observed.near else FAR_COUNTS
        rejected = REJECTED in observed.risks
        for strategy in observed.added if rejected else strategies_of(observed.language):
            if strategy not in observed.before:
                self.chances[strategy].languages[observed.language] += chance * (_ACCEPTED_COUNTS if rejected else 1)

    def add(self, observed: Observation, strategy: str, weight: float) -> None:
        self.nodes[strategy].take(observed, weight)
        for present in sorted(observed.before):
            self.company[present, strategy].languages[observed.language] += weight
        for back, earlier in enumerate(list(reversed(observed.history[-REACH:])) or [START]):
            self.joins[earlier, strategy].take(observed, weight * NEAR**back, direct=back == 0)

    def strategies(self) -> dict[str, Strategy]:
        return {
            name: Strategy(
                name,
                _tally(self.nodes[name]),
                _tally(self.chances[name]),
                tuple(self.nodes[name].effects),
                dict(sorted(self.nodes[name].risks.items())),
                tuple(dict.fromkeys(self.nodes[name].transitions)),
            )
            for name in sorted({*self.nodes, *self.chances})
        }

    def beside(self) -> dict[tuple[str, str], Tally]:
        return {key: _tally(seen) for key, seen in sorted(self.company.items())}

    def edges(self) -> dict[tuple[str, str], Edge]:
        return {
            key: Edge(
                *key,
                _tally(seen),
                seen.times,
                tuple(seen.effects),
                dict(sorted(seen.risks.items())),
                tuple(dict.fromkeys(seen.transitions)),
            )
            for key, seen in sorted(self.joins.items())
        }


def _tally(seen: _Seen) -> Tally:
    return Tally({k: round(v, _DIGITS) for k, v in sorted(seen.languages.items())})
