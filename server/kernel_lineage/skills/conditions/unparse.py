"""A condition's tree as text of the language again: what a card shows in a kernel's own names."""

from __future__ import annotations

from typing import assert_never

from kernel_lineage.skills.conditions.fact_name import Type
from kernel_lineage.skills.conditions.tree import (
    Arithmetic,
    Call,
    Comparison,
    Connective,
    Expr,
    FactRef,
    Items,
    Literal,
    Negative,
    Not,
)

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
        case Call(function=function, arguments=arguments):
            return f"{function}({', '.join(_written(a, 0) for a in arguments)})"
        case Not(operand=operand):
            level, text = _BINDING["not"], f"not {_written(operand, _BINDING['not'])}"
        case Negative(operand=operand):
            level, text = _BINDING["neg"], f"-{_written(operand, _BINDING['neg'])}"
        case Arithmetic(op=op, left=left, right=right):
            level = _BINDING[op]
            grouped = (level + 1, level) if op == "**" else (level, level + 1)
            text = f"{_written(left, grouped[0])} {op} {_written(right, grouped[1])}"
        case Comparison(op=op, left=left, right=right):
            level = _BINDING["compare"]
            text = f"{_written(left, level + 1)} {op} {_written(right, level + 1)}"
        case Connective(op=op, operands=operands):
            level = _BINDING[op]
            text = f" {op} ".join(_written(o, level + 1) for o in operands)
        case _:
            assert_never(tree)
    return f"({text})" if level < outer else text
