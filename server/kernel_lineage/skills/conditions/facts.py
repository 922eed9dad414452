"""Facts: what conditions are evaluated on, each with its evidence.

A fact's name is written as in the condition language (`C`, `align(x)`, `launch.block.x`, `device.compute_capability`).
`facts.toml` beside this file is the one place where the fixed names are declared, with unit and source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

Scalar: TypeAlias = bool | int | float | str | tuple[float, ...]


class FactSource(StrEnum):
    """Where a fact comes from."""

    SYNTAX = "syntax"
    LAUNCH = "launch site"
    WORKLOAD = "workload"
    DEVICE = "device"
    TOOLCHAIN = "toolchain"
    IMAGE = "compiled image"
    PROFILE = "profile"
    STATED = "stated"


@dataclass(frozen=True, slots=True)
class Fact:
    """The values that something is known to take, and how that is known.

    A condition holds only if it holds for every value; it fails if it fails for one, and that one is shown.
    """

    values: tuple[Scalar, ...]
    """At least one. More than one when it varies: C is 768, 1024 or 770 in a workload."""
    evidence: str
    """One phrase for people: `C is 768 or 1024 in workloads/rmsnorm.toml`."""
    source: FactSource


@dataclass(frozen=True, slots=True)
class StatedPromise:
    """A condition that every caller keeps, in the names of the facts, and who says so."""

    expr: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Facts:
    """All facts of one situation: a kernel with its workload, on a device, with a toolchain."""

    known: Mapping[str, Fact] = field(default_factory=dict)
    promises: tuple[StatedPromise, ...] = ()
    """What holds for all sizes, not only for the values that are known."""

    def get(self, name: str) -> Fact | None:
        """The fact of that name, or None when nothing is known."""
        return self.known.get(name)

    def merged(self, *others: Facts) -> Facts:
        """These facts and the others', promises too; of two facts with one name, the one named first stays."""
        facts = dict(self.known)
        promises = dict.fromkeys(self.promises)
        for other in others:
            promises |= dict.fromkeys(other.promises)
            for name, fact in other.known.items():
                facts.setdefault(name, fact)
        return Facts(facts, tuple(promises))

    def __iter__(self) -> Iterator[str]:
        return iter(self.known)
