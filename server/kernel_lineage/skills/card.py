"""A skill's card: what lies in a skill's folder (`SKILL.md`, `conditions.toml`, `evidence/`, `lineage.json`)."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from kernel_lineage.kernels.source import Language


class ConditionKind(StrEnum):
    """Validity: when it fails, the result can be wrong. Profit: when it fails, it is not worth it."""

    VALIDITY = "validity"
    PROFIT = "profit"


class Category(StrEnum):
    """What a condition is about."""

    DATA_TYPES = "data types"
    LAYOUT = "layout"
    STORAGE = "storage"
    PIPELINE = "pipeline"
    HARDWARE = "hardware"
    SHAPE = "shape"


class Origin(StrEnum):
    """How a condition became known."""

    GUARD = "guard in code"
    LATER_FIX = "later fix"
    PROBE = "probe"
    MEASUREMENT = "measurement"
    PROOF = "proof"
    AUTHOR = "author"


class Condition(BaseModel, frozen=True, extra="forbid"):
    """One executable condition."""

    kind: ConditionKind
    category: Category
    expr: str
    """In the condition language."""
    reason: str
    """What goes wrong when it fails, in one sentence."""
    origin: Origin
    evidence: str | None = None
    """What shows it: a commit, a counterexample, a measurement."""


class NothingToSay(BaseModel, frozen=True, extra="forbid"):
    """A category without a condition, and why."""

    category: Category
    reason: str


class AnchorRule(BaseModel, frozen=True, extra="forbid"):
    """Where the skill applies: a pattern of `kernels/anchors`, on kernels with and without certain mechanisms."""

    pattern: str
    requires: tuple[str, ...] = ()
    """Mechanisms that must be there already."""
    conflicts: tuple[str, ...] = ()
    """Mechanisms that must not be there."""
    again: bool = False
    """Whether it is offered where its own mechanism is there already, of which it makes another form."""
    where: dict[str, str] = Field(default_factory=dict)
    """What a match must have bound: {"first": "max"} takes only those whose first pass gathers a maximum."""
    otherwise: dict[str, str] = Field(default_factory=dict)
    """A name of the conditions → the name of the pattern to take when a match does not bind it: {"C": "N"}."""


class Risk(BaseModel, frozen=True, extra="forbid"):
    """What went wrong somewhere with this skill."""

    what: str
    """`C = 770: the last 2 columns are not written`."""
    evidence: str


class SizeEffect(BaseModel, frozen=True, extra="forbid"):
    """A measured effect at one size."""

    dims: dict[str, int]
    speedup: float
    """Baseline time over candidate time."""
    low: float
    high: float


class Evidence(BaseModel, frozen=True, extra="forbid"):
    """One gate verdict about this skill (`evidence/*.json`)."""

    kernel: str
    outcome: str
    reason: str
    device: str
    date: str
    toolchain: dict[str, str] = Field(default_factory=dict)
    held_out: bool
    """Whether the skill was not learned from this kernel."""
    sizes: tuple[SizeEffect, ...] = ()
    command: str
    details: dict[str, Any] = Field(default_factory=dict)


class SkillLineage(BaseModel, frozen=True, extra="forbid"):
    """Where a learned skill comes from (`lineage.json`)."""

    repository: str
    """Its URL, or its name when it has none."""
    commits: tuple[str, ...]
    """Before and after, and later ones that fixed or guarded it."""
    authors: tuple[str, ...] = ()
    licence: str
    """SPDX identifier of the source's licence."""
    paths: tuple[str, ...] = ()


class Skill(BaseModel, frozen=True, extra="forbid"):
    """A skill as read from its folder."""

    id: str
    """The folder's name, kebab-case."""
    title: str
    summary: str
    """One sentence: what the rewrite does."""
    mechanism: str
    """The id of the mechanism that it adds."""
    languages: tuple[Language, ...]
    anchor: AnchorRule
    assist: str | None = None
    """The id of the assist that carries it over deterministically, if there is one."""
    provides: tuple[str, ...] = ()
    conditions: tuple[Condition, ...]
    nothing_to_say: tuple[NothingToSay, ...] = ()
    effect: str
    """What it changes and by how much, in words."""
    risk: tuple[Risk, ...] = ()
    carrier: str
    """The prose card's body: how it is carried over. A hint; never run as it is."""
    licence: str
    builtin: bool
    evidence: tuple[Evidence, ...] = ()
    unverified: tuple[int, ...] = Field(default=(), exclude=True)
    """The numbers of the pieces of evidence that the folder brings and no gate of this user gave."""
    description: str = ""
    """For other agents: what it does and when to use it (SKILL.md's `description`)."""
    lineage: SkillLineage | None = None
    """None for a skill that was written by hand."""
    applies: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()
    """Its cases, as paths within its folder; those that apply by their `before` file."""
    folder: Path | None = Field(default=None, exclude=True)
    """Where it was read from."""

    @property
    def verified(self) -> tuple[Evidence, ...]:
        """The evidence that was measured by us or by a gate of this user."""
        return tuple(e for number, e in enumerate(self.evidence) if number not in self.unverified)

    @property
    def uses(self) -> tuple[Evidence, ...]:
        """Verified uses on kernels that the skill was not learned from."""
        return tuple(e for e in self.verified if e.held_out and e.outcome == "accepted")

    @property
    def offered(self) -> bool:
        """Whether it may be offered at all: it has a case that applies and one that refuses."""
        return bool(self.applies and self.refuses)

    @property
    def admitted(self) -> bool:
        """Whether at least one verified held-out use exists."""
        return bool(self.uses)
