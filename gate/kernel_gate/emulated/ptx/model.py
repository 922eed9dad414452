"""What a PTX module is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

ORDERED = ("volatile", "relaxed", "acquire", "release", "mmio")
"""Loads and stores of these kinds are no race with each other."""


@dataclass(frozen=True, slots=True)
class Register:
    """`%r1`, or `!%p1` when negated, or `%r1.b2` for a part of it."""

    name: str
    negated: bool = False
    part: str = ""
    """The part that a video instruction takes: `b0` … `b3`, `h0`, `h1`."""


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer literal."""

    value: int


@dataclass(frozen=True, slots=True)
class FloatBits:
    """`0f3F800000` or `0d3FF0000000000000`: the bits of a literal of `size` bytes."""

    bits: int
    size: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """The address of a variable, a label or a function, plus bytes."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Address:
    """`[base + offset]`."""

    base: Register | Symbol | Integer
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """`{a, b, c, d}` of a vector access or a pack; `(a, b)` of a call; `p|q` of a pair of destinations."""

    items: tuple[Operand, ...]


Operand: TypeAlias = "Register | Integer | FloatBits | Symbol | Address | Group"


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction."""

    opcode: str
    """With all modifiers: `ld.global.v4.f32`."""
    operands: tuple[Operand, ...]
    guard: Register | None
    line: int | None
    """Line of the user's source, when the PTX says it."""
    ptx_line: int
    inner: str = ""
    """`FILE:LINE` of another file whose code `line` calls; "" for the user's own code."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The opcode cut at its dots: `("ld", "global", "v4", "f32")`."""
        return _cut(self.opcode)


@cache
def _cut(opcode: str) -> tuple[str, ...]:
    return tuple(opcode.split("."))


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable in some state space, a parameter included."""

    name: str
    space: str
    """`param`, `shared`, `global`, `const`, `local`."""
    align: int
    nbytes: int
    data: bytes | None = None
    external: bool = False
    """`.extern .shared x[]`: its size is the launch's dynamic shared memory."""
    addresses: tuple[tuple[int, Symbol], ...] = ()
    """Initialisers that are addresses of other variables: (byte offset, symbol)."""


@dataclass(slots=True)
class Function:
    """A kernel (`entry`) or a device function, as written."""

    name: str
    entry: bool
    parameters: list[Variable] = field(default_factory=list)
    results: list[Variable] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    """Local and shared variables, and the parameter slots of its calls."""
    registers: dict[str, str] = field(default_factory=dict)
    """Name → type name. A register of an inner scope is named apart."""
    body: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    """Label → index into `body`."""
    branch_targets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """`.branchtargets` lists, for `brx.idx`."""
    required_threads: int | None = None
    """`.reqntid`."""
    cluster: tuple[int, int, int] = (1, 1, 1)
    """`.reqnctapercluster`."""


@dataclass(slots=True)
class Module:
    """One translation unit."""

    target: str
    variables: dict[str, Variable] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    files: dict[int, str] = field(default_factory=dict)


class PtxError(ValueError):
    """Text that is not PTX as far as this reader knows; the message names the line of the PTX."""
