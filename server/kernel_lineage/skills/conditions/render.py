"""A condition as a sentence for the hover card: `C % 4 == 0` → "C is a multiple of 4"."""

from __future__ import annotations

from typing import assert_never

from kernel_lineage.skills.conditions.evaluate import show
from kernel_lineage.skills.conditions.fact_name import Type
from kernel_lineage.skills.conditions.names import declared, split_fact
from kernel_lineage.skills.conditions.parse import parse
from kernel_lineage.skills.conditions.tree import ARITHMETIC, OPPOSITE, Expr, FactRef, Items, Literal, Op

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_WORDS = {
    "==": "is {}",
    "!=": "is not {}",
    "<": "is less than {}",
    "<=": "is at most {}",
    ">": "is more than {}",
    ">=": "is at least {}",
    "in": "is {}",
    "not in": "is not {}",
}
_SIGNS = {"*": "×", "//": "÷", "%": "mod", "**": "to the power", "+": "+", "-": "−"}


def sentence(expr: str | Expr) -> str:
    """What a condition says, without capital and full stop. Raises `ConditionError` for what is no condition."""
    return _clause(parse(expr) if isinstance(expr, str) else expr)


def _clause(tree: Expr) -> str:
    match tree:
        case Op(op=op, operands=(left, right)) if op in OPPOSITE:
            return _comparison(left, op, right)
        case Op(op="and" | "or" as op, operands=operands):
            return f" {op} ".join(f"({_clause(o)})" if _is_connective(o) else _clause(o) for o in operands)
        case Op(op="not", operands=(operand,)):
            return _denied(operand)
        case FactRef(type=Type.TRUTH):
            return _noun(tree)
        case FactRef(name=name):
            return f"{name} is set"
        case Op(op="is_power_of_2", operands=(number,)):
            return f"{_noun(number)} is a power of two"
        case Literal(value=value):
            return "always" if value else "never"
        case Items() | Op():
            return _noun(tree)
        case _:
            assert_never(tree)


def _is_connective(tree: Expr) -> bool:
    return isinstance(tree, Op) and tree.op in ("and", "or")


def _comparison(left: Expr, op: str, right: Expr) -> str:
    if isinstance(left, Literal) and op in _MIRRORED and not isinstance(right, Literal):
        left, op, right = right, _MIRRORED[op], left
    match left, op, right:
        case Op(op="%", operands=(number, divisor)), ("==" | "!="), Literal(value=0):
            return f"{_noun(number)} is {'a' if op == '==' else 'no'} multiple of {_noun(divisor)}"
        case _, "in", _ if right.type is Type.TEXT:
            return f"{_noun(right)} contains {_noun(left)}"
        case _, "not in", _ if right.type is Type.TEXT:
            return f"{_noun(right)} does not contain {_noun(left)}"
        case FactRef(name=name), ("==" | "!=" | "in" | "not in"), _ if left.type is Type.DTYPE:
            verb = "holds" if op in ("==", "in") else "does not hold"
            return f"{split_fact(name)[1][0]} {verb} {_noun(right)}"
        case FactRef(name=name), _, Literal() if split_fact(name)[0] == "align":
            return f"{split_fact(name)[1][0]} is aligned to {_WORDS[op].format(_noun(right)).removeprefix('is ')} bytes"
        case _:
            listed = op in ("in", "not in")
            return f"{_version(left)} {_WORDS[op].format(_noun(right) if listed else _version(right))}"


def _denied(tree: Expr) -> str:
    match tree:
        case Op(op=op, operands=(left, right)) if op in OPPOSITE and Type.INTERVAL not in (
            left.type,
            right.type,
        ):
            return _comparison(left, OPPOSITE[op], right)
        case Op(op="not", operands=(operand,)):
            return _clause(operand)
        case FactRef(type=Type.TRUTH):
            return (
                _noun(tree)
                .replace(" uses ", " does not use ")
                .replace(" is ", " is not ")
                .replace(" do not ", " may ")
            )
        case FactRef(name=name):
            return f"{name} is not set"
        case Op() | Literal() | Items():
            return f"it is not so that {_clause(tree)}"
        case _:
            assert_never(tree)


def _noun(tree: Expr) -> str:
    match tree:
        case Literal(value=value, type=kind):
            return f'"{value}"' if kind is Type.TEXT else show(value)
        case Items(items=items):
            *rest, last = map(_version, items)
            return f"{', '.join(rest)} or {last}" if rest else last
        case FactRef(name=name):
            _, arguments = split_fact(name)
            declaration = declared(name)
            return (
                name
                if declaration is None
                else declaration.noun.format(*(a.strip('"').replace("_", " ") for a in arguments))
            )
        case Op(op="neg", operands=(operand,)):
            return f"−{_noun(operand)}"
        case Op(op=op, operands=(left, right)) if op in ARITHMETIC:
            chained = isinstance(left, Op) and left.op == op and op in ("+", "*")
            return f"{_noun(left) if chained else _operand(left)} {_SIGNS[op]} {_operand(right)}"
        case Op(op="itemsize", operands=(FactRef(name=name),)):
            return f"the size of {split_fact(name)[1][0]}'s elements"
        case Op(op=op) if op in OPPOSITE or op in ("and", "or", "not"):
            return f"({_clause(tree)})"
        case Op(op=op, operands=operands):
            return f"{op}({', '.join(map(_noun, operands))})"
        case _:
            assert_never(tree)


def _version(tree: Expr) -> str:
    """`(8, 0)` is read as 8.0."""
    if isinstance(tree, Items) and all(isinstance(i, Literal) for i in tree.items):
        return ".".join(_noun(i) for i in tree.items)
    return _noun(tree)


def _operand(tree: Expr) -> str:
    return f"({_noun(tree)})" if isinstance(tree, Op) and tree.op in ARITHMETIC else _noun(tree)
