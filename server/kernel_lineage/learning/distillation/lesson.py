"""A lesson: one atomic step that the gate has verified, in the words of the repository that it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kernel_lineage.kernels.source import Kernel
from kernel_lineage.skills.card import Condition, Evidence, Risk
from kernel_lineage.skills.conditions.facts import Facts


@dataclass(frozen=True, slots=True)
class Source:
    """Where a step comes from."""

    repository: str
    """Its URL, or its name when it has none."""
    licence: str
    """SPDX identifier."""
    path: str
    commits: tuple[str, ...]
    """Before and after, and later ones that guarded or fixed it."""
    authors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RefusingCase:
    """A situation in which a learned condition fails, as a case of the skill."""

    expr: str
    """The condition, in the kernel's own names."""
    facts: Mapping[str, str]
    """What is to be taken as known for it to fail: {"C": "770"}."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one step shows. Conditions, risks and cases speak in the kernel's own names."""

    transition: str
    lineage: str
    before: Kernel
    """As it was before the step; its source is what it reaches, and no more."""
    after: Kernel
    mechanisms: tuple[str, ...]
    """What the step adds: the names of one change that could not be split further."""
    source: Source
    evidence: Evidence
    """The gate's verdict on the step."""
    facts: Facts = field(default_factory=Facts)
    """Facts of the situation in which the step was seen to be right."""
    conditions: tuple[Condition, ...] = ()
    risks: tuple[Risk, ...] = ()
    refusing: tuple[RefusingCase, ...] = ()
