"""What a mechanism is: an optimisation with a name that can be seen in code.

Each file beside this one declares one `MECHANISM`; `registry.py` collects them. Its examples are files of kernels named
after it, `tests/kernels/spellings/ID.cu` and `tests/kernels/look_alikes/ID.cu` (`.triton` for Triton).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from kernel_lineage.kernels.source import Language, Span
from kernel_lineage.kernels.units import Reader

BACKGROUND = frozenset({"masked_tail", "hoisted_index", "thread_coarsening", "wide_index"})
"""Ids of mechanisms that come and go with almost any change: they say little of why it was made, and nobody sets out to
add them."""


class Direction(StrEnum):
    """What an optimisation works on."""

    MEMORY_ACCESS = "memory access"
    DATA_REUSE = "data reuse"
    PARALLEL_MAPPING = "parallel mapping"
    INSTRUCTION_THROUGHPUT = "instruction throughput"
    LATENCY_HIDING = "latency hiding"
    LAUNCH = "launch"
    PRECISION = "precision"
    ALGORITHM = "algorithm"


Parameters: TypeAlias = tuple[tuple[str, str], ...]
"""What tells one occurrence of a mechanism from another: (name, value) pairs, sorted; a value is a number or a term."""


@dataclass(frozen=True, slots=True)
class Site:
    """A place where a mechanism is seen, with what was seen in a few words."""

    span: Span
    detail: str
    root: str = ""
    """The array or tensor that it works on, "" when it works on none."""
    parameters: Parameters = ()
    certain: bool = True
    """Whether the code itself shows it; False where only the name of a function that is not at hand says so."""
    mechanism: str = ""
    """Its id, which `mechanisms_of` puts in: a detector knows of no other."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A mechanism as a kernel uses it: on one array with one set of parameters, at one place or several."""

    mechanism: str
    root: str
    parameters: Parameters
    lines: tuple[int, ...]
    """The first line of each place, counted from 1."""
    certain: bool = True

    @property
    def count(self) -> int:
        """At how many places."""
        return len(self.lines)


@dataclass(frozen=True, slots=True)
class TypicalCondition:
    """A condition that often goes with a mechanism: a hypothesis until something confirms it."""

    expr: str
    """In the condition language; `x`, `y` stand for tensors and capital letters for dimensions."""
    kind: str
    """`validity` or `profit`."""
    category: str
    """`data types`, `layout`, `storage`, `pipeline`, `hardware` or `shape`."""
    reason: str


def validity(expr: str, category: str, reason: str) -> TypicalCondition:
    """A condition without which the result can be wrong."""
    return TypicalCondition(expr, "validity", category, reason)


def profit(expr: str, category: str, reason: str) -> TypicalCondition:
    """A condition without which the mechanism is not worth it."""
    return TypicalCondition(expr, "profit", category, reason)


@dataclass(frozen=True, slots=True)
class Mechanism:
    """One mechanism: identity, how it is found, and what typically conditions it."""

    title: str
    direction: Direction
    summary: str
    """One sentence: what the code does differently and why that helps."""
    looks_for: str
    """One sentence: what in the code is taken as a sign of it."""
    detect: Reader[Site]
    conditions: tuple[TypicalCondition, ...]
    counted: bool = False
    """Whether one more place with the same parameters is more of it, as one more unrolled loop is."""
    id: str = ""
    """The name of its file, which the registry puts in."""

    @property
    def languages(self) -> frozenset[Language]:
        """Those in which it can be seen."""
        return self.detect.languages
