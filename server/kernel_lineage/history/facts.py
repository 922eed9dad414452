"""What is worked out per distinct version text, and what it is worked out from."""

from __future__ import annotations

from dataclasses import dataclass

from kernel_lineage.history.rows import Rows
from kernel_lineage.kernels.mechanisms.model import Parameters
from kernel_lineage.kernels.source import Language


@dataclass(frozen=True, slots=True)
class Task:
    """One distinct version: the texts that make it, the kernel's own among them."""

    digest: str
    language: Language
    symbol: str
    parts: tuple[str, ...]
    device_code: bool = True
    """Whether mechanisms are looked for; where only launchers matter, their guards are all there is to see."""


@dataclass(frozen=True, slots=True)
class GuardFact:
    """A guard, with its line counted from the first line of the part that holds it."""

    expr: str
    kind: str
    where: str
    part: int
    line: int
    leaves: bool = False


@dataclass(frozen=True, slots=True)
class OccurrenceFact:
    """An occurrence of a mechanism, with its places as (part, line counted from the part's first line)."""

    mechanism: str
    root: str
    parameters: Parameters
    places: tuple[tuple[int, int], ...]
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Facts:
    """What is seen in a version."""

    occurrences: tuple[OccurrenceFact, ...] = ()
    guards: tuple[GuardFact, ...] = ()
    cut: str = ""
    """What of the version was not looked at, and why; "" when all of it was."""

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The ids of the mechanisms that are seen for certain, sorted."""
        return tuple(sorted({o.mechanism for o in self.occurrences if o.certain}))


FACTS: Rows[Facts] = Rows(Facts)
