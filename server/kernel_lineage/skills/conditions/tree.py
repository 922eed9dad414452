"""The condition language's tree: a small typed subset of Python's expressions (`parse.py` makes it from text).

One tree, three uses: `evaluate.py` finds its truth over facts, `render.py` says it as a sentence, and a prover can
translate it. Invariants: nodes are immutable, and equal when they mean the same text; `column` is only for messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

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
class Op:
    """An operator, or a function of `FUNCTIONS`, over its operands; `a < b < c` is the `and` of its comparisons."""

    op: str
    """As it is written, but `neg` for the sign: `not`, `and`, `or`, `<`, `in`, `%`, `ceil_div`, …"""
    operands: tuple[Expr, ...]
    type: Type = Type.NUMBER
    column: int = field(default=1, compare=False)


Expr: TypeAlias = Literal | Items | FactRef | Op
ARITHMETIC = frozenset({"+", "-", "*", "//", "%", "**"})
OPPOSITE: Mapping[str, str] = {
    "==": "!=",
    "!=": "==",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
    "in": "not in",
    "not in": "in",
}
"""Each comparison → the one that holds where it does not."""


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


def negation(tree: Expr) -> Op:
    """`not a`."""
    return Op("not", (tree,), Type.TRUTH)


def children(tree: Expr) -> tuple[Expr, ...]:
    """The direct parts of a node, from left to right."""
    return tree.operands if isinstance(tree, Op) else tree.items if isinstance(tree, Items) else ()


def mapped(tree: Expr, change: Callable[[FactRef], Expr]) -> Expr:
    """The tree with each mention of a fact changed."""
    parts = tuple(mapped(part, change) for part in children(tree))
    match tree:
        case FactRef():
            return change(tree)
        case Op():
            return replace(tree, operands=parts)
        case Items():
            return replace(tree, items=parts)
    return tree


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
    declaration = declared(fact)
    if declaration is None:
        return (fact,)
    written = fact.partition("(")[2].rstrip(")").split(", ")
    return tuple(
        a for a, kind in zip(written, declaration.arguments, strict=False) if kind is Argument.TENSOR
    )
