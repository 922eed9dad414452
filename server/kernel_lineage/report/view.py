"""What the lineage report shows: plain values, made by `build.py`, drawn by the template."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a difference: `kind` is `added`, `removed` or `kept`."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class ConditionView:
    """A learned condition with where it comes from."""

    expr: str
    sentence: str
    origin: str
    evidence: str


@dataclass(frozen=True, slots=True)
class CheckView:
    """What running a version said."""

    state: str
    """`right`, `narrower`, `wrong` or `unknown`."""
    text: str


@dataclass(frozen=True, slots=True)
class VersionView:
    """A version as a node of the timeline."""

    label: str
    place: str
    """`kernels/rmsnorm.cu:3`."""
    commit: str
    date: str
    check: CheckView | None


@dataclass(frozen=True, slots=True)
class MeasuredView:
    """A measured effect: time before over time after, with its interval."""

    median: float
    low: float
    high: float
    device: str


@dataclass(frozen=True, slots=True)
class TransitionView:
    """A transition as an edge of the timeline and a card below it."""

    subject: str
    commit: str
    author: str
    date: str
    kind: str
    intent: str
    because: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    compound: bool
    risks: tuple[str, ...]
    conditions: tuple[ConditionView, ...]
    before: str
    after: str
    """Labels of versions."""
    check: CheckView | None
    effect: str
    """`1.82× (1.80 … 1.84), fast, NVIDIA H200`; "" where nothing was timed."""
    counts: tuple[str, ...]
    """What the emulated device counted, before → after, in words."""
    diff: tuple[DiffLine, ...]
    measured: MeasuredView | None = None
    """The effect as numbers, for the waterfall; None where nothing was timed."""


@dataclass(frozen=True, slots=True)
class LineageView:
    """One lineage."""

    anchor: str
    """Id of its section."""
    kernel: str
    language: str
    versions: tuple[VersionView, ...]
    transitions: tuple[TransitionView, ...]


@dataclass(frozen=True, slots=True)
class AppliedView:
    """One application of a skill, for the demo."""

    skill: str
    kernel: str
    outcome: str
    reason: str
    explanation: str
    stages: tuple[tuple[str, str, str], ...]
    """Name, status, reason."""
    diff: tuple[DiffLine, ...]


@dataclass(frozen=True, slots=True)
class ReportView:
    """The whole page."""

    repository: str
    head: str
    device: str
    made: str
    """Date, ISO 8601."""
    counts: tuple[tuple[str, str], ...]
    """Number and what it counts."""
    lineages: tuple[LineageView, ...]
    applied: tuple[AppliedView, ...] = ()
    notes: tuple[str, ...] = field(default=())
    """What was skipped or could not be done."""
