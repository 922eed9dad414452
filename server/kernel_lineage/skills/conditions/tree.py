"""The condition language's tree: a small typed subset of Python's expressions (`parse.py` makes it from text).

One tree, three uses: `evaluate.py` finds its truth over facts, `render.py` says it as a sentence, and a prover can
translate it. Invariants: nodes are immutable, and equal when they mean the same text; `column` is only for messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from kernel_lineage.skills.conditions.fact_name import Argument, Type
from kernel_lineage.skills.conditions.names import declared


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, truth value, text or data type."""

    value: bool | int | float | str
    type: Type
    column: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True)
class Items:
    """A tuple: a version, or the right side of `in`."""

    items: tuple[Expr, ...]
    type: Type = Type.VERSION
    column: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True)
class FactRef:
    """A fact by its name, arguments included: `C`, `align(x)`, `launch.block.x`."""

    name: str
    type: Type
    bound: bool = True
    """False when a skill's own name was found nowhere in the kernel: such a fact is never known."""
    column: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True)
class Negative:
    """`-a`."""

    operand: Expr
    type: Type = Type.NUMBER
    column: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True)
class Not:
    """`not a`."""

    operand: Expr
    type: Type = Type.TRUTH
    column: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left op right`, op one of `+ - * // % **`."""

    op: str
    left: Expr
    right: Expr
    type: Type = Type.NUMBER
    column: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A pure function of `FUNCTIONS`."""

    function: str
    arguments: tuple[Expr, ...]
    type: Type = Type.NUMBER
    column: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left op right`; a chain `a < b < c` is the conjunction of its comparisons."""

    op: str
    left: Expr
    right: Expr
    type: Type = Type.TRUTH
    column: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True)
class Connective:
    """`and` or `or` of at least two operands."""

    op: str
    operands: tuple[Expr, ...]
    type: Type = Type.TRUTH
    column: int = field(default=1, compare=False)


Expr: TypeAlias = Literal | Items | FactRef | Negative | Not | Arithmetic | Call | Comparison | Connective
_PARTS: Mapping[type, tuple[str, ...]] = {
    Items: ("items",),
    Negative: ("operand",),
    Not: ("operand",),
    Arithmetic: ("left", "right"),
    Call: ("arguments",),
    Comparison: ("left", "right"),
    Connective: ("operands",),
}
"""Which fields of a node are its parts, from left to right."""


@dataclass(frozen=True, slots=True)
class Function:
    """A pure function of the language."""

    parameters: tuple[Type, ...]
    type: Type
    doc: str
    variadic: bool = False
    """The last parameter may be repeated."""


FUNCTIONS: Mapping[str, Function] = {
    "min": Function((Type.NUMBER, Type.NUMBER), Type.NUMBER, "The least of its arguments.", variadic=True),
    "max": Function((Type.NUMBER, Type.NUMBER), Type.NUMBER, "The greatest of its arguments.", variadic=True),
    "ceil_div": Function((Type.NUMBER, Type.NUMBER), Type.NUMBER, "The quotient, rounded up."),
    "is_power_of_2": Function((Type.NUMBER,), Type.TRUTH, "Whether a number is 1, 2, 4, 8, …"),
    "itemsize": Function(
        (Type.DTYPE,), Type.NUMBER, "The size of a data type in bytes: `itemsize(dtype(x))`."
    ),
}


def children(tree: Expr) -> tuple[Expr, ...]:
    """The direct parts of a node."""
    parts = (getattr(tree, field) for field in _PARTS.get(type(tree), ()))
    return tuple(one for part in parts for one in (part if isinstance(part, tuple) else (part,)))


def mapped(tree: Expr, change: Callable[[FactRef], Expr]) -> Expr:
    """The tree with each mention of a fact changed."""
    if isinstance(tree, FactRef):
        return change(tree)
    new: dict[str, Any] = {}
    for name in _PARTS.get(type(tree), ()):
        part = getattr(tree, name)
        new[name] = (
            tuple(mapped(p, change) for p in part) if isinstance(part, tuple) else mapped(part, change)
        )
    return replace(tree, **new) if new else tree


def facts_in(tree: Expr) -> Iterator[FactRef]:
    """Every mention of a fact, from left to right."""
    if isinstance(tree, FactRef):
        yield tree
    for child in children(tree):
        yield from facts_in(child)


def names_in(tree: Expr) -> frozenset[str]:
    """The dimensions, scalars and tensors that a condition speaks of: `align(x) >= C` gives x and C."""
    return frozenset(name for ref in facts_in(tree) for name in plain_names(ref.name))


def plain_names(fact: str) -> tuple[str, ...]:
    """The dimension, scalar or tensors in one fact's name."""
    known = declared(fact)
    if known is None:
        return (fact,)
    written = fact.partition("(")[2].rstrip(")").split(", ")
    return tuple(a for a, kind in zip(written, known.arguments, strict=False) if kind is Argument.TENSOR)
