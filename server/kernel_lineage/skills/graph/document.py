"""The transition graph as a document: what `klineage graph --json` prints and how the built-in one lies in the package.

Fields may be added; none is renamed without a new version number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field

from kernel_lineage.skills.graph.model import Edge, Effect, Graph, Strategy, Tally, direction_of
from kernel_lineage.skills.graph.rank import Ranked

VERSION = 1


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, populate_by_name=True, serialize_by_alias=True)


class EffectDocument(_Document):
    """A measured effect: time before over time after."""

    speedup: float
    device: str
    transition: str


class StrategyDocument(_Document):
    """A mechanism: how often it was added, and how often it could have been, by language (weighted counts)."""

    id: str
    direction: str
    added: dict[str, float]
    could: dict[str, float]
    effects: tuple[EffectDocument, ...]
    risks: dict[str, int]
    """Kind of what was said against it → in how many of its steps."""
    transitions: tuple[str, ...]
    """Ids of the steps, `repository@` before those of another repository."""


class EdgeDocument(_Document):
    """One strategy after another; `from` is "" for the first of a lineage."""

    before: str = Field(alias="from")
    after: str = Field(alias="to")
    count: dict[str, float]
    """By language; the last step counts 1, the one before it a half."""
    times: int
    """How often one came directly after the other."""
    effects: tuple[EffectDocument, ...]
    risks: dict[str, int]
    transitions: tuple[str, ...]


class CompanyDocument(_Document):
    """A strategy that was added where a mechanism was present."""

    present: str
    added: str
    count: dict[str, float]


class DirectionEdgeDocument(_Document):
    """One direction after another: the upper level, added up from the edges of strategies."""

    before: str = Field(alias="from")
    after: str = Field(alias="to")
    times: int


class RankedDocument(_Document):
    """A strategy that is offered next."""

    strategy: str
    direction: str
    score: float
    reason: str
    not_now: str = ""
    """Why a rule on what limits the kernel forbids it now; "" when none does."""


class NextDocument(_Document):
    """What is offered next for one kernel."""

    path: str
    kernel: str
    language: str
    history: tuple[str, ...]
    strategies: tuple[RankedDocument, ...]


class GraphDocument(_Document):
    """The transition graph."""

    version: int = VERSION
    repository: str
    observations: int
    sources: dict[str, int]
    """`mined`, `walked`, `outcome` → how many observed steps."""
    directions: dict[str, int]
    """Direction → how many steps added a strategy of it."""
    direction_edges: tuple[DirectionEdgeDocument, ...]
    strategies: tuple[StrategyDocument, ...]
    edges: tuple[EdgeDocument, ...]
    company: tuple[CompanyDocument, ...]
    next: tuple[NextDocument, ...] = ()
    """For the kernels that are there now, when they were asked for."""


def graph_document(
    graph: Graph,
    repository: str,
    following: Sequence[NextDocument] = (),
) -> GraphDocument:
    """The document of a graph."""
    directions: dict[str, int] = defaultdict(int)
    for node in graph.strategies.values():
        if node.transitions:
            directions[node.direction] += len(node.transitions)
    return GraphDocument(
        repository=repository,
        observations=graph.observations,
        sources=dict(graph.sources),
        directions=dict(sorted(directions.items())),
        direction_edges=tuple(
            DirectionEdgeDocument(before=before, after=after, times=times)
            for (before, after), times in direction_edges(graph).items()
        ),
        strategies=tuple(_strategy(s) for s in graph.strategies.values()),
        edges=tuple(_edge(e) for e in graph.edges.values()),
        company=tuple(
            CompanyDocument(present=present, added=added, count=dict(tally.languages))
            for (present, added), tally in graph.company.items()
        ),
        next=tuple(following),
    )


def direction_edges(graph: Graph) -> dict[tuple[str, str], int]:
    """(Direction, direction) → how often a strategy of the second came directly after one of the first."""
    found: dict[tuple[str, str], int] = defaultdict(int)
    for edge in graph.edges.values():
        if edge.times:
            found[direction_of(edge.before), direction_of(edge.after)] += edge.times
    return dict(sorted(found.items()))


def graph_of(document: GraphDocument) -> Graph:
    """The graph that a document describes."""
    return Graph(
        {
            s.id: Strategy(s.id, Tally(s.added), Tally(s.could), _effects(s.effects), s.risks, s.transitions)
            for s in document.strategies
        },
        {
            (e.before, e.after): Edge(
                e.before, e.after, Tally(e.count), e.times, _effects(e.effects), e.risks, e.transitions
            )
            for e in document.edges
        },
        {(c.present, c.added): Tally(c.count) for c in document.company},
        document.observations,
        document.sources,
    )


def ranked_document(ranked: Ranked, not_now: str) -> RankedDocument:
    """One offered strategy, and why it cannot pay now, if so."""
    return RankedDocument(
        strategy=ranked.strategy,
        direction=ranked.direction,
        score=ranked.score,
        reason=ranked.reason,
        not_now=not_now,
    )


def _strategy(node: Strategy) -> StrategyDocument:
    return StrategyDocument(
        id=node.id,
        direction=node.direction,
        added=dict(node.added.languages),
        could=dict(node.could.languages),
        effects=tuple(map(_effect, node.effects)),
        risks=dict(node.risks),
        transitions=node.transitions,
    )


def _edge(edge: Edge) -> EdgeDocument:
    return EdgeDocument(
        before=edge.before,
        after=edge.after,
        count=dict(edge.count.languages),
        times=edge.times,
        effects=tuple(map(_effect, edge.effects)),
        risks=dict(edge.risks),
        transitions=edge.transitions,
    )


def _effect(effect: Effect) -> EffectDocument:
    return EffectDocument(speedup=effect.speedup, device=effect.device, transition=effect.transition)


def _effects(documents: Sequence[EffectDocument]) -> tuple[Effect, ...]:
    return tuple(Effect(d.speedup, d.device, d.transition) for d in documents)
