"""The small language of workloads: arithmetic over named numbers, parsed with `ast` and never evaluated as Python.

Numbers, `inf`, names, `+ - * / // % **`, unary minus, comparisons, `and or not`, `a if c else b`, and the functions
`ceil_div` (also `cdiv`), `next_power_of_2`, `min`, `max`, `abs`, `exp`, `log`, `log2`, `sin`, `cos`, `tanh`, `isqrt`,
`round`, `bit_length`, `bit_and`, `bit_or`. C's integer division is written `//`.
Names are those of C++ as well: `in` and `lambda` are names here.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping

from kernel_gate.expr.syntax import ExpressionError, parse

__all__ = [
    "FUNCTIONS",
    "MAX_BITS",
    "ExpressionError",
    "Number",
    "ceil_div",
    "evaluate",
    "evaluate_int",
    "names",
    "next_power_of_2",
    "parse",
    "split_at_commas",
]

Number = int | float | bool
_INFINITY = "inf"

MAX_BITS = 256
"""The most bits that `**` may give: no expression grows a number without bound."""


def ceil_div(a: Number, b: Number) -> int:
    """The smallest integer that is at least a / b, for b > 0."""
    return int(-(-a // b))


def next_power_of_2(n: Number) -> int:
    """The smallest power of two that is at least n; 1 for n ≤ 1."""
    return 1 << max(0, math.ceil(n) - 1).bit_length()


def _power(a: Number, b: Number) -> Number:
    if isinstance(a, int) and isinstance(b, int) and a.bit_length() * b > MAX_BITS:
        raise ExpressionError(f"{a} ** {b} has more than {MAX_BITS} bits")
    result: Number = a**b
    return result


FUNCTIONS: dict[str, Callable[..., Number]] = {
    "abs": abs,
    "bit_and": operator.and_,
    "bit_length": int.bit_length,
    "bit_or": operator.or_,
    "ceil_div": ceil_div,
    "cdiv": ceil_div,
    "cos": math.cos,
    "exp": math.exp,
    "isqrt": math.isqrt,
    "log": math.log,
    "log2": math.log2,
    "max": max,
    "min": min,
    "next_power_of_2": next_power_of_2,
    "round": round,
    "sin": math.sin,
    "tanh": math.tanh,
}

_BINARY: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Number, Number], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def split_at_commas(text: str, opening: str = "(", closing: str = ")") -> list[str]:
    """The parts of a list between the commas that stand in no bracket, without white space around them."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in opening) - (character in closing)
        if character == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()]


def names(text: str) -> frozenset[str]:
    """The names that an expression refers to, functions excepted."""
    tree = parse(text)
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    variables = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called}
    return frozenset(variables - {_INFINITY})


def evaluate(text: str | Number, values: Mapping[str, Number]) -> Number:
    """The value of an expression. A number stands for itself. Raises `ExpressionError`."""
    if not isinstance(text, str):
        return text
    try:
        return _evaluate(parse(text), values)
    except ExpressionError as error:
        raise ExpressionError(
            f"`{text}`: {error}" if f"`{text}`" not in str(error) else str(error)
        ) from error
    except RecursionError:
        raise ExpressionError(f"`{text[:40]}…` is nested too deep") from None
    except (ArithmeticError, TypeError, ValueError) as error:
        raise ExpressionError(f"`{text}`: {error}") from error


def evaluate_int(text: str | Number, values: Mapping[str, Number]) -> int:
    """The value of an expression that must be a whole number."""
    value = evaluate(text, values)
    if isinstance(value, float) and not value.is_integer():
        raise ExpressionError(f"`{text}` is {value}, not a whole number; use // or ceil_div")
    return int(value)


def _evaluate(node: ast.expr, values: Mapping[str, Number]) -> Number:
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return value
        case ast.Name(id=name):
            if name == _INFINITY and name not in values:
                return math.inf
            if name not in values:
                listing = ", ".join(sorted(values)) or "none"
                raise ExpressionError(f"`{name}` is not known here; known names: {listing}")
            return values[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand, values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _evaluate(operand, values)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_evaluate(left, values), _evaluate(right, values))
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_evaluate(part, values) for part in parts)
        case ast.BoolOp(values=parts):
            return any(_evaluate(part, values) for part in parts)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _evaluate(body if _evaluate(test, values) else orelse, values)
        case ast.Compare(left=left, ops=ops, comparators=rights) if all(type(op) in _COMPARE for op in ops):
            operands = [_evaluate(part, values) for part in (left, *rights)]
            pairs = zip(ops, operands, operands[1:], strict=False)
            return all(_COMPARE[type(op)](a, b) for op, a, b in pairs)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name](*(_evaluate(arg, values) for arg in args))
    raise ExpressionError(f"`{ast.unparse(node)}` is not in the language of workloads")
