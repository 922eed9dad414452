"""A condition's tree as text of the language again: what a card shows in a kernel's own names."""

from __future__ import annotations

from typing import assert_never

from kernel_lineage.skills.conditions.fact_name import Type
from kernel_lineage.skills.conditions.tree import ARITHMETIC, OPPOSITE, Expr, FactRef, Items, Literal, Op

_BINDING = {
    "or": 1,
    "and": 2,
    "not": 3,
    "compare": 4,
    "+": 5,
    "-": 5,
    "*": 6,
    "//": 6,
    "%": 6,
    "neg": 7,
    "**": 8,
}


def written(tree: Expr) -> str:
    """The condition as text of the language; `parse` of it gives the tree again, up to bound names."""
    return _written(tree, 0)


def _written(tree: Expr, outer: int) -> str:
    match tree:
        case Literal(value=value, type=kind):
            return (
                f'"{value}"'
                if kind is Type.TEXT and isinstance(value, str) and '"' not in value
                else (str(value) if kind is Type.DTYPE else repr(value))
            )
        case FactRef(name=name):
            return name
        case Items(items=items):
            inner = ", ".join(_written(i, 0) for i in items)
            return f"({inner},)" if len(items) == 1 else f"({inner})"
        case Op(op="not" | "neg" as op, operands=(operand,)):
            level = _BINDING[op]
            text = f"{'not ' if op == 'not' else '-'}{_written(operand, level)}"
        case Op(op="and" | "or" as op, operands=operands):
            level = _BINDING[op]
            text = f" {op} ".join(_written(o, level + 1) for o in operands)
        case Op(op=op, operands=(left, right)) if op in ARITHMETIC or op in OPPOSITE:
            level = _BINDING.get(op, _BINDING["compare"])
            grouped = (level, level + 1) if op in ARITHMETIC else (level + 1, level + 1)
            first, second = grouped[::-1] if op == "**" else grouped
            text = f"{_written(left, first)} {op} {_written(right, second)}"
        case Op(op=op, operands=operands):
            return f"{op}({', '.join(_written(o, 0) for o in operands)})"
        case _:
            assert_never(tree)
    return f"({text})" if level < outer else text
