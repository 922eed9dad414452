"""What probing a step found: conditions with their counterexamples, what was dropped, and what was not reached."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

from kernel_gate.verdict import SpeedState
from kernel_lineage.skills.card import Condition, Risk


class Counterexample(BaseModel, frozen=True, extra="forbid"):
    """The smallest case found in which the later state fails and the earlier one does not."""

    dims: dict[str, int]
    seed: int | None
    """None where it was derived, not run."""
    code: str
    """The gate's reason code."""
    said: str
    """The gate's own line: element, got, expected, place."""
    facts: dict[str, Any]
    """The values of the condition's names."""
    line: int | None = None


class Confirmation(BaseModel, frozen=True, extra="forbid"):
    """Held-out cases on both sides of a condition, and in how many the gate agrees with it."""

    kept: int
    """Cases that keep the condition."""
    kept_agree: int
    """How many of them the later state gets right."""
    broken: int
    broken_agree: int
    """Cases that break it, and in how many of these the later state is wrong."""
    near: int = 0
    """Further cases that break it, those closest to it first."""
    near_agree: int = 0

    @property
    def beyond(self) -> tuple[int, int]:
        """In how many cases tried on the other side the later state is right, and how many were tried."""
        tried = self.broken + self.near
        return tried - self.broken_agree - self.near_agree, tried

    @property
    def share(self) -> float:
        """The share of all held-out cases."""
        total = self.kept + self.broken
        return (self.kept_agree + self.broken_agree) / total if total else 0.0


class ProbedCondition(BaseModel, frozen=True, extra="forbid"):
    """One validity condition that probes or proofs found."""

    axis: str
    condition: Condition
    risk: Risk
    counterexample: Counterexample
    confirmation: Confirmation


class Dropped(BaseModel, frozen=True, extra="forbid"):
    """A failure that became no condition."""

    axis: str
    expr: str
    """"" when no predicate of the grammar parts what fails from what does not."""
    why: str
    counterexample: Counterexample


class TimedSize(BaseModel, frozen=True, extra="forbid"):
    """One size of a sweep: time of the earlier state over that of the later one, with its interval."""

    extent: int
    ratio: float
    low: float
    high: float
    state: SpeedState


class Crossing(BaseModel, frozen=True, extra="forbid"):
    """Between two sizes that were timed, a gain turns into none, or the other way round."""

    low: int
    high: int
    pays: Literal["above", "below"]

    @property
    def wins(self) -> int:
        """The nearest size that was seen to pay."""
        return self.high if self.pays == "above" else self.low

    @property
    def loses(self) -> int:
        """The nearest size that was seen not to."""
        return self.low if self.pays == "above" else self.high

    def expr(self, dim: str) -> str:
        """As a condition: from the size that was seen to pay on, not from where it may begin to."""
        return f"{dim} {'>=' if self.pays == 'above' else '<='} {self.wins}"


class Sweep(BaseModel, frozen=True, extra="forbid"):
    """A step timed at sizes along one dimension."""

    dim: str
    fixed: dict[str, int]
    """The other dimensions."""
    device: str = ""
    """That gave the times; "" when none did."""
    sizes: tuple[TimedSize, ...] = ()
    crossings: tuple[Crossing, ...] = ()
    why_not: str = ""
    """Why nothing was measured."""


class ProbeReport(BaseModel, frozen=True, extra="forbid"):
    """Everything that probing one step gave; the same bytes for the same step, seed and runs."""

    transition: str
    kernel: str
    device: str
    seed: int
    passes: bool
    """Whether both states agree on the workload as it is; where they do not, conditions say where they do."""
    reason: str
    """Where they do not; "" when they do."""
    conditions: tuple[ProbedCondition, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    runs: int = 0
    not_reached: tuple[str, ...] = ()
    """Axes that the budget left out or cut short, with the limit."""
