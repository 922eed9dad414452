"""What the transition graph is made of: observed steps, and the strategies and edges that they add up to.

A strategy is a mechanism, a direction what it works on (`kernels/mechanisms`). Nothing here knows git: a step is told by
whoever saw it, in a mined history, in a walk, or as a verdict of the gate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kernel_lineage.kernels.mechanisms.model import BACKGROUND
from kernel_lineage.kernels.mechanisms.registry import mechanisms

START = ""
"""What the first strategy of a lineage follows."""
REJECTED = "rejected"
"""The risk of an outcome that the gate rejected."""
TAKEN_BACK = ("revert", "slower", "no_difference")
"""Kinds of risk that say that a step did not pay."""


class Source(StrEnum):
    """Where a step was seen."""

    MINED = "mined"
    WALKED = "walked"
    OUTCOME = "outcome"
    """A verdict of the gate about a skill."""


@dataclass(frozen=True, slots=True)
class Effect:
    """A measured effect: time before over time after."""

    speedup: float
    device: str
    transition: str


@dataclass(frozen=True, slots=True)
class Observation:
    """One step of a kernel that added strategies, or tried to."""

    id: str
    """Of the transition, or of the outcome: what an edge names as its provenance."""
    language: str
    before: frozenset[str]
    """Mechanisms that were there."""
    history: tuple[str, ...]
    """Strategies that were added before, oldest first."""
    added: tuple[str, ...]
    source: Source = Source.MINED
    risks: tuple[str, ...] = ()
    """Kinds of what was later said against it: `revert`, `bug`, `slower`, `rejected`, …"""
    effect: Effect | None = None
    near: bool = True
    """Whether it comes from the repository at hand."""
    alike: str = ""
    """Steps of one commit share this: the same strategy in several kernels is one decision."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How often something was done, by language."""

    languages: Mapping[str, float] = field(default_factory=dict)

    def of(self, language: str, elsewhere: float) -> float:
        """What counts for a kernel of this language: its own, and a share of the others'."""
        own = self.languages.get(language, 0.0)
        return own + elsewhere * (sum(self.languages.values()) - own)


@dataclass(frozen=True, slots=True)
class Strategy:
    """A mechanism as a node."""

    id: str
    added: Tally
    could: Tally
    """Steps before which it was not there."""
    effects: tuple[Effect, ...] = ()
    risks: Mapping[str, int] = field(default_factory=dict)
    transitions: tuple[str, ...] = ()

    @property
    def direction(self) -> str:
        """What it works on."""
        return direction_of(self.id)


@dataclass(frozen=True, slots=True)
class Edge:
    """One strategy after another; `before` is `START` for the first of a lineage."""

    before: str
    after: str
    count: Tally
    """Weighted by how near `before` was in the history: the last one counts 1, the one before it a half."""
    times: int
    """How often `after` came directly after `before`."""
    effects: tuple[Effect, ...] = ()
    risks: Mapping[str, int] = field(default_factory=dict)
    transitions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """Strategies by id, edges by what they join; both in the order of their keys."""

    strategies: Mapping[str, Strategy]
    edges: Mapping[tuple[str, str], Edge]
    company: Mapping[tuple[str, str], Tally]
    """(A mechanism that was there, a strategy that was added then) → how often."""
    observations: int
    sources: Mapping[str, int]
    """Source → how many observations."""


def direction_of(strategy: str) -> str:
    """The direction of a strategy; "start" before the first, "other" for one that is not known any more."""
    if strategy == START:
        return "start"
    known = mechanisms().get(strategy)
    return known.direction.value if known is not None else "other"


def strategies_of(language: str) -> tuple[str, ...]:
    """Every strategy that a kernel of a language can have, in the order of ids."""
    return tuple(m.id for m in mechanisms().values() if language in m.languages and m.id not in BACKGROUND)
