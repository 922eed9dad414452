"""Values of a kernel's variables while it is read symbolically."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from tree_sitter import Node

from kernel_gate.expr.terms import Num, Term, Var, at_most, choice, less
from kernel_lineage.code.model import Model


@dataclass(frozen=True, slots=True)
class IntType:
    """An integer type."""

    bits: int
    signed: bool

    @property
    def least(self) -> int:
        """The smallest value."""
        return -(2 ** (self.bits - 1)) if self.signed else 0

    @property
    def most(self) -> int:
        """The largest value."""
        return int(2 ** (self.bits - self.signed) - 1)

    def __str__(self) -> str:
        return f"{'' if self.signed else 'u'}int{self.bits}"


INT32, UINT32, INT64, UINT64 = IntType(32, True), IntType(32, False), IntType(64, True), IntType(64, False)
BOOL = IntType(8, False)
INTEGERS = {f"{sign}int{bits}": IntType(bits, not sign) for sign in ("", "u") for bits in (8, 16, 32, 64)} | {
    "bool": BOOL
}
"""By NumPy's names."""


@dataclass(frozen=True, slots=True)
class Element:
    """What a pointer points at."""

    dtype: str
    """NumPy's name, a vector type's, or "" for another one."""
    nbytes: int
    """0 when it is not known."""
    name: str = ""
    """As it is written, without qualifiers; ends with `*` for a pointer."""

    @property
    def size(self) -> Term:
        """Bytes: a number, or a variable for a type whose size is not known."""
        return Num(self.nbytes) if self.nbytes or not self.name else Var(f"sizeof({self.name})")


@dataclass(frozen=True, slots=True)
class Int:
    """An integer or truth value."""

    term: Term
    type: IntType = INT32
    arithmetic: frozenset[int] = frozenset()
    """The steps of `Model.arithmetic` that it was computed by."""
    wrapping: frozenset[int] = frozenset()
    """Those of them that may wrap as long as it becomes a number that fits: sums and products of unsigned integers."""


@dataclass(frozen=True, slots=True)
class Pointer:
    """An address: bytes into a buffer or an array. With `extents` it is an array, to be indexed further."""

    root: str
    space: str
    """`global`, `shared`, `constant` or `local`."""
    offset: Term
    element: Element
    extents: tuple[Term, ...] = ()
    arithmetic: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Reference:
    """A name for what stands at an address."""

    to: Pointer


@dataclass(frozen=True, slots=True)
class Group:
    """A cooperative group: consecutive threads of a block."""

    size: Term | None
    """None: the whole block."""
    grid: bool = False
    """All threads of the launch."""


@dataclass(frozen=True, slots=True)
class Record:
    """A struct or a built-in vector that is kept in registers or given as an argument."""

    type: str
    members: Mapping[str, Value]
    path: str = ""
    """How an argument's members are named in terms."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """Something that the launch gives, of a type whose definition is not seen: the same for all threads."""

    path: str


@dataclass(frozen=True, slots=True)
class Lambda:
    """A function within a function."""

    node: Node


@dataclass(frozen=True, slots=True)
class Opaque:
    """Anything else: a floating-point value, or one that could not be modelled."""

    reason: str = ""


Value: TypeAlias = "Int | Pointer | Reference | Group | Record | Symbol | Lambda | Opaque"


def why(value: Value) -> str:
    """Why a value is not known; "" where nothing is to be said."""
    return value.reason if isinstance(value, Opaque) else ""


def fresh(model: Model, name: str, *facts: str) -> Var:
    """A new variable of a thread or iteration; `natural` among the facts says that it is never negative."""
    variable = Var(f"{name}#{len(model.instance)}")
    model.instance.add(variable.name)
    if "natural" in facts:
        model.naturals.add(variable.name)
        model.ranges[variable.name] = (at_most(Num(0), variable),)
    return variable


def unknown(
    model: Model, name: str, type_: IntType, reason: str, depends: tuple[Term, ...] | None = None
) -> Int:
    """An integer of which only the type is known, and what it depends on where that is."""
    variable = fresh(model, name, *([] if type_.signed else ["natural"]))
    model.data.add(variable.name)
    model.unknowns[variable.name] = reason
    model.depends[variable.name] = depends
    model.ranges[variable.name] = (at_most(Num(type_.least), variable), at_most(variable, Num(type_.most)))
    return Int(variable, type_)


def between(
    model: Model, name: str, least: Term, end: Term, type_: IntType, depends: tuple[Term, ...] | None = None
) -> Int:
    """An integer with promised limits: `least <= value < end`."""
    variable = fresh(model, name, *(["natural"] if isinstance(least, Num) and least.value >= 0 else []))
    model.data.add(variable.name)
    model.depends[variable.name] = depends
    limits = (at_most(least, variable), less(variable, end), at_most(variable, Num(type_.most)))
    model.ranges[variable.name] = limits
    return Int(variable, type_)


def merged(condition: Term, yes: Value | None, no: Value | None, name: str, line: int) -> Value:
    """The value after both branches of a condition."""
    if yes == no and yes is not None:
        return yes
    match yes, no:
        case Int(), Int():
            wide = yes.type if yes.type.bits >= no.type.bits else no.type
            return Int(choice(condition, yes.term, no.term), wide, yes.arithmetic | no.arithmetic)
        case Pointer(), Pointer() if yes.root == no.root and yes.element == no.element:
            offset = choice(condition, yes.offset, no.offset)
            return replace(yes, offset=offset, arithmetic=yes.arithmetic | no.arithmetic)
        case Pointer(), Pointer():
            return Opaque(f"`{name}` points into {yes.root} or {no.root}, by a condition on line {line}")
        case Record(), Record() if yes.type == no.type:
            members = {
                key: merged(condition, yes.members.get(key), no.members.get(key), f"{name}.{key}", line)
                for key in {**yes.members, **no.members}
            }
            return Record(yes.type, members)
        case Opaque(reason), _:
            return Opaque(reason)
        case _, Opaque(reason):
            return Opaque(reason)
        case _:
            return Opaque(f"`{name}` is not set on every path to line {line}")
