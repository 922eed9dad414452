"""Terms at numbers."""

from __future__ import annotations

from collections.abc import Mapping

from kernel_gate.expr.terms import FOLDED, Num, Op, Term, Var, is_defined


class UndefinedError(ArithmeticError):
    """A variable without a value, or a division or shift that has no result; the message names it."""


def evaluate(term: Term, values: Mapping[str, int]) -> int:
    """The value of a term. Only the side of a choice that is taken counts. Raises `UndefinedError`."""
    match term:
        case Num(value):
            return value
        case Var(name):
            if name not in values:
                raise UndefinedError(f"`{name}` has no value")
            return values[name]
        case Op("ite", (condition, yes, no)):
            return evaluate(yes if evaluate(condition, values) else no, values)
        case Op("and", parts):
            return int(all(evaluate(part, values) for part in parts))
        case Op("or", parts):
            return int(any(evaluate(part, values) for part in parts))
        case Op("not", (part,)):
            return int(not evaluate(part, values))
        case Op(name, (a, b)):
            left, right = evaluate(a, values), evaluate(b, values)
            if not is_defined(name, right):
                raise UndefinedError(f"`{term}` has no value where `{b}` is {right}")
            return int(FOLDED[name](left, right))
        case Op(name):
            raise UndefinedError(f"`{name}` of one operand")
