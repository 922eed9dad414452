"""One thing to be proved, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """What is to be proved."""

    IN_BOUNDS = "in_bounds"
    WRITTEN = "written"
    """Every element of an output is written at least once."""
    WRITTEN_ONCE = "written_once"
    """No element of an output is written by two threads."""
    ALIGNED = "aligned"
    BANK_CONFLICTS = "bank_conflicts"
    """An access to shared memory has none."""
    OVERFLOW = "overflow"
    """Arithmetic that an address depends on fits its 32-bit type."""
    HINT = "hint"
    """What the code tells the compiler of its values is so."""


class Status(StrEnum):
    """How it ended."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Where an obligation fails: the sizes, and as far as it applies the block, thread and element."""

    dims: Mapping[str, int] = field(default_factory=dict)
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    buffer: str | None = None
    element: int | None = None
    """Flat index into the buffer; may lie outside of it."""
    note: str = ""
    addresses: Mapping[str, int] = field(default_factory=dict)
    """`address_of_x` of a buffer that does not lie at a multiple of 256 bytes → how far behind one it does."""


@dataclass(frozen=True, slots=True)
class Obligation:
    """One obligation at one place in the code."""

    kind: Kind
    line: int
    expression: str
    status: Status
    reason: str = ""
    counterexample: Counterexample | None = None
    confirmed: str | None = None
    """`interpreter` when running the kernel showed it, `arithmetic` when exact evaluation did."""
    seconds: float = 0.0
    root: str = ""
    """The buffer or array that it is about."""
    cause: tuple[int, str] | None = None
    """The operation of a refuted overflow that does not fit: its line, and how it is written."""
