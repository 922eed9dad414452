"""What an expression of a Triton kernel stands for while its tiles are looked at: its axes, and what lies behind the
end of a tile; and the loops that combine one round after the other.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kernel_lineage.kernels.python_text import names_in
from kernel_lineage.rewrite.assists.triton_places import called, stored_names

IDENTITY = {"sum": 0.0, "max": -math.inf, "min": math.inf}
"""What changes nothing when it is taken in."""
IN_MEMORY = {"atomic_add": "sum", "atomic_max": "max", "atomic_min": "min"}
"""How memory takes in what several programs have."""
_CHOOSING = {"maximum": "max", "minimum": "min"}

OPERATORS: Mapping[type[ast.operator], Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
OF_LANES: Mapping[str, Callable[..., float] | None] = {
    "exp": math.exp,
    "exp2": lambda x: 2.0**x,
    "log": math.log,
    "log2": math.log2,
    "sqrt": math.sqrt,
    "abs": abs,
    "maximum": max,
    "minimum": min,
    "cast": lambda x, *_: x,
    **dict.fromkeys(("rsqrt", "sigmoid", "fma", "cos", "sin", "tanh", "erf", "floor", "ceil", "pow")),
    **dict.fromkeys(("cdiv", "min", "max", "div_rn", "sqrt_rn")),
}
"""Functions that give each lane something of its own, and what they make of numbers where that matters."""
BUILTIN = ("abs", "max", "min")
"""Python's own functions of numbers."""
OF_TYPES = ("dtype", "element_ty", "type")
"""What a block can be asked besides its elements."""
CHECKS = ("static_assert", "static_print", "device_print", "device_assert")


class Unfollowed(Exception):  # noqa: N818
    """The line and what stands there."""

    def __init__(self, node: ast.AST) -> None:
        text = " ".join(ast.unparse(node).split())
        super().__init__(
            f"what line {getattr(node, 'lineno', 0)} does with tiles is not followed: `{text[:60]}`"
        )


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a block."""

    size: str = ""
    """The parameter that is its extent; "" for an extent of 1."""
    by: str = ""
    """`grid` or `rounds`; "" where the expression alone does not tell."""


@dataclass(frozen=True, slots=True)
class Value:
    """What an expression gives."""

    axes: tuple[Axis, ...] = ()
    is_data: bool = False
    """Made of what was loaded; else of sizes, places and arguments."""
    beyond: float | None = None
    """What lanes behind the end of a loop's last tile have; None where that is not known."""
    sizes: frozenset[str] = frozenset()
    """The sizes that a number which is no data depends on."""
    by: str = ""
    """`grid` or `rounds` of a number that counts programs or rounds."""
    counts: bool = False
    """It is the number of an element among those of all tiles, and nothing is added to that."""
    open: Mapping[str, str] = field(default_factory=dict)
    """Size of a loop's tile → by what its lanes or its rounds are still to be combined; "" for the last tile's."""


def either(one: Value, other: Value) -> Value | None:
    """What a name stands for after one of two branches; None where that is not of one shape."""
    if one == other:
        return one
    if [axis.size for axis in one.axes] != [axis.size for axis in other.axes]:
        return None
    by = one.by if one.by == other.by else ""
    beyond = one.beyond if one.beyond == other.beyond else None
    data, opened = one.is_data or other.is_data, {**one.open, **other.open}
    return Value(one.axes, data, beyond, one.sizes | other.sizes, by, open=opened)


def extent_of(node: ast.expr) -> str:
    """An axis' extent as it is written; "" for 1."""
    text = ast.unparse(node)
    return "" if text == "1" else text


def number_of(node: ast.expr | None) -> float | None:
    """The number that an expression is, with `float("-inf")` and its like."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            number = number_of(inner)
            return -number if number is not None else None
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str() as text)]):
            return {"inf": math.inf, "-inf": -math.inf}.get(text.strip().lower())
    return None


def is_carried(body: list[ast.stmt], name: str) -> bool:
    """Whether a round may read what the round before has left in a name."""
    for statement in body:
        value = statement.value if isinstance(statement, ast.Assign) else statement
        if name in names_in(value):
            return True
        if isinstance(statement, ast.Assign) and name in stored_names(statement):
            return False
    return False


def combined_in(body: list[ast.stmt], name: str) -> tuple[ast.stmt, str, ast.expr] | None:
    """The one statement of a loop's body that uses a name, where that combines it with something: how, and what."""
    users = [s for s in body if name in names_in(s)]
    if len(users) != 1:
        return None
    match users[0]:
        case ast.AugAssign(op=ast.Add(), value=value):
            how, other = "sum", value
        case ast.Assign(targets=[_], value=ast.BinOp(left=left, op=ast.Add(), right=right)):
            rest = [p for p in (left, right) if not (isinstance(p, ast.Name) and p.id == name)]
            if len(rest) != 1:
                return None
            how, other = "sum", rest[0]
        case ast.Assign(targets=[_], value=ast.Call() as call) if called(call) in ("dot", *_CHOOSING):
            how = _CHOOSING.get(called(call), "sum")
            parts = [*call.args, *(k.value for k in call.keywords if k.arg == "acc")]
            rest = [p for p in parts if not (isinstance(p, ast.Name) and p.id == name)]
            if len(parts) - len(rest) != 1 or (how != "sum" and (len(rest) != 1 or call.keywords)):
                return None
            kept = [k for k in call.keywords if k.arg != "acc"]
            other = rest[0] if how != "sum" else ast.copy_location(ast.Call(call.func, rest, kept), call)
        case _:
            return None
    inside = name in names_in(other)
    return None if inside else (users[0], how, other)
