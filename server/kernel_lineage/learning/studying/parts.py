"""What was learned of the parts of one step: the document that is kept in the cache beside its record."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from kernel_gate.program import Program
from kernel_gate.verdict import Speedup
from kernel_lineage.skills.card import Condition, Risk


class Refusing(BaseModel, frozen=True):
    """A situation in which a condition fails."""

    expr: str
    facts: dict[str, Any]


class StudiedPart(BaseModel, frozen=True):
    """One part of a step: where it stands, what it changes and when it is right."""

    before: Program
    after: Program
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """Mechanisms."""
    speedup: Speedup | None = None
    """The effect of this part alone; None where nothing was timed."""
    counts: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    risk: tuple[Risk, ...] = ()
    refusing: tuple[Refusing, ...] = ()
    compound: str = ""
    """Why it may do several things that were not told apart: then it teaches nothing. "" when it was split."""


class Studied(BaseModel, frozen=True):
    """What studying one step gave."""

    parts: tuple[StudiedPart, ...] = ()
    interactions: tuple[str, ...] = ()
    """How the parts depend on each other, a sentence each."""
    compound: str = ""
    """Why the step, or its last part, may do several things that were not told apart; "" when it was split."""
    trials: int = 0
    probes: int = Field(default=0, description="Cases that were run to find the conditions.")
