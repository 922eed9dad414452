"""Two graphs as one: a repository's own, and one of elsewhere that counts less."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kernel_lineage.skills.graph.build import FAR_COUNTS
from kernel_lineage.skills.graph.model import Edge, Graph, Strategy, Tally

_NOTHING = Tally()


def joined(own: Graph, elsewhere: Graph) -> Graph:
    """Counts of `own` whole, those of `elsewhere` by `FAR_COUNTS`; effects, risks and provenance of both."""
    names = sorted({*own.strategies, *elsewhere.strategies})
    pairs = sorted({*own.edges, *elsewhere.edges})
    return Graph(
        {name: _strategy(name, own.strategies.get(name), elsewhere.strategies.get(name)) for name in names},
        {pair: _edge(pair, own.edges.get(pair), elsewhere.edges.get(pair)) for pair in pairs},
        {
            key: _tally(own.company.get(key, _NOTHING), elsewhere.company.get(key, _NOTHING))
            for key in sorted({*own.company, *elsewhere.company})
        },
        own.observations + elsewhere.observations,
        _sums([own.sources, elsewhere.sources]),
    )


def _strategy(name: str, own: Strategy | None, other: Strategy | None) -> Strategy:
    both = [s for s in (own, other) if s is not None]
    return Strategy(
        name,
        _tally(own.added if own else _NOTHING, other.added if other else _NOTHING),
        _tally(own.could if own else _NOTHING, other.could if other else _NOTHING),
        tuple(effect for s in both for effect in s.effects),
        _sums(s.risks for s in both),
        tuple(dict.fromkeys(t for s in both for t in s.transitions)),
    )


def _edge(pair: tuple[str, str], own: Edge | None, other: Edge | None) -> Edge:
    both = [e for e in (own, other) if e is not None]
    return Edge(
        *pair,
        _tally(own.count if own else _NOTHING, other.count if other else _NOTHING),
        sum(e.times for e in both),
        tuple(effect for e in both for effect in e.effects),
        _sums(e.risks for e in both),
        tuple(dict.fromkeys(t for e in both for t in e.transitions)),
    )


def _tally(own: Tally, other: Tally) -> Tally:
    languages = sorted({*own.languages, *other.languages})
    return Tally(
        {
            name: round(own.languages.get(name, 0.0) + FAR_COUNTS * other.languages.get(name, 0.0), 4)
            for name in languages
        }
    )


def _sums(several: Iterable[Mapping[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for counts in several:
        for name, count in counts.items():
            found[name] = found.get(name, 0) + count
    return dict(sorted(found.items()))
