"""Kleene's three truth values. `UNKNOWN` is never treated as `HOLDS`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kernel_lineage.skills.conditions.facts import Fact


class Truth(StrEnum):
    """Holds, fails or unknown."""

    HOLDS = "holds"
    FAILS = "fails"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The truth of an expression, and what decided it."""

    truth: Truth
    evidence: tuple[Fact, ...] = ()
    """The facts that decided it."""
    missing: tuple[str, ...] = ()
    """The facts that would be needed; not empty when the truth is unknown."""
    counterexample: str | None = None
    """When it fails: the values that make it fail, `C = 770`. When it is unknown: values that would make it fail, which
    what is promised does not rule out."""
    partly: bool = False
    """It fails, but only for some of the values: for others it holds or may hold."""
