"""What invariants are made of: tags on the elements of arguments, and assertions about the tags of values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

STORED, AT, LEFT, RIGHT = -1, -2, -3, -4
"""Operands that no expression names: what a store writes, the element that it writes to, the factors of a product."""
OPERAND_NAMES = {STORED: "stored", AT: "at", LEFT: "left factor", RIGHT: "right factor"}
Binding = Literal["place", "stores", "products"]
"""Where an assertion is checked: at the place of its comment, or at the stores or the products of its line."""
Comparison = Literal["==", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Tag:
    """`tag A[i][k] as (i, step = k // 8)`."""

    line: int
    """The line in the user's file."""
    argument: str
    indices: tuple[str, ...]
    coordinates: tuple[tuple[str, str], ...]
    """Name and expression over the indices and the workload's dims."""


@dataclass(frozen=True, slots=True)
class Coordinate:
    """`tag(VALUE).name`, `stored.name`, `at.name`."""

    operand: int
    """Position among the assertion's operands, or one of the constants above."""
    name: str


@dataclass(frozen=True, slots=True)
class Amount:
    """A whole number: an operand's value, or a literal."""

    operand: int | None
    value: int = 0


Term = Coordinate | Amount


@dataclass(frozen=True, slots=True)
class Relation:
    """A comparison of terms: two, or any number that are all the same."""

    comparison: Comparison
    terms: tuple[Term, ...]

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """The terms that are coordinates."""
        return tuple(term for term in self.terms if isinstance(term, Coordinate))


@dataclass(frozen=True, slots=True)
class Assertion:
    """`assert same(tag(a).k, tag(b).k)`: every datum that went into a has the k of every one that went into b."""

    number: int
    line: int
    """The comment's line."""
    code_lines: tuple[int, int]
    """First and last line of the code that it speaks of: its own, or the next one that holds code."""
    text: str
    binding: Binding
    relations: tuple[Relation, ...]
    operands: tuple[str, ...]
    """Expressions of the kernel's language, those of amounts among them."""
    owner: str | None
    """The kernel in whose body it stands; None: a function's that kernels may call."""

    @property
    def coordinates(self) -> set[int]:
        """The operands whose coordinates are compared."""
        return {c.operand for r in self.relations for c in r.coordinates}

    @property
    def amounts(self) -> set[int | None]:
        """The operands that are numbers themselves; None among them for a literal."""
        return {t.operand for r in self.relations for t in r.terms if isinstance(t, Amount)}

    def name(self, operand: int) -> str:
        """What an operand is called in a message."""
        return OPERAND_NAMES[operand] if operand < 0 else self.operands[operand]


@dataclass(frozen=True, slots=True)
class Mistake:
    """A statement that cannot be read; the message says what to write."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Statements:
    """The invariants of one program."""

    tags: tuple[Tag, ...] = ()
    assertions: tuple[Assertion, ...] = ()
    mistakes: tuple[Mistake, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.tags or self.assertions or self.mistakes)

    @property
    def asserted(self) -> tuple[str, ...]:
        """Names of the coordinates that assertions speak of: no others need be followed."""
        names = (c.name for a in self.assertions for r in a.relations for c in r.coordinates)
        return tuple(dict.fromkeys(names))
