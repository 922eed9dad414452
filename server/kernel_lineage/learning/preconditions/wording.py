"""Terms of a kernel's code → the condition language."""

from __future__ import annotations

from collections.abc import Collection

from kernel_gate.expr.terms import Num, Op, Term, Var
from kernel_lineage.skills.conditions.parse import ConditionError, parse
from kernel_lineage.skills.conditions.tree import names_in

_LAUNCH = {f"{what}Dim.{axis}": f"launch.{what}.{axis}" for what in ("block", "grid") for axis in "xyz"}
_SIGNS = {"+": "+", "*": "*", "//": "//", "quot": "//", "%": "%", "rem": "%"}
"""Divisions of C++ and of Python agree on sizes, which are not negative."""


def worded(term: Term) -> str | None:
    """A number of the condition language; None where it cannot say it."""
    match term:
        case Num(value):
            return str(value) if value >= 0 else f"({value})"
        case Var(name):
            return _LAUNCH.get(name, name)
        case Op("min" | "max" as name, args):
            parts = [worded(a) for a in args]
            return None if None in parts else f"{name}({', '.join(p for p in parts if p)})"
        case Op(name, (a, b)) if name in _SIGNS:
            left, right = worded(a), worded(b)
            return None if left is None or right is None else f"({left} {_SIGNS[name]} {right})"
    return None


def is_said(condition: str, names: Collection[str]) -> bool:
    """Whether a text is a condition that speaks of at least one of these names, and of no others."""
    try:
        tree = parse(condition)
    except ConditionError:
        return False
    spoken = names_in(tree)
    return bool(spoken) and spoken <= set(names)
