"""Conditions as the solver's terms: facts become integers, data types their numbers in a list.

Versions, texts, intervals and numbers that are no integers have no translation. `%` and `//` mean the same as in Python
for positive divisors only; whoever refutes a condition by its terms evaluates it before saying so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce

from kernel_gate.expr import terms
from kernel_gate.expr.terms import ONE, ZERO, Num, Term, Var
from kernel_lineage.skills.conditions.fact_name import Type
from kernel_lineage.skills.conditions.facts import Scalar
from kernel_lineage.skills.conditions.names import DTYPES
from kernel_lineage.skills.conditions.tree import Expr, FactRef, Items, Literal, Op

_MAX_EXPONENT = 8
_MAX_BITS = 62
_NAMES = tuple(DTYPES)


class UntranslatedError(Exception):
    """A part that has no translation; the message names it."""


@dataclass
class Translated:
    """One set of variables for a claim and its promises."""

    types: dict[str, Type] = field(default_factory=dict)
    """The facts that were met."""

    def truth(self, tree: Expr) -> Term:
        """A condition. Raises `UntranslatedError`."""
        match tree:
            case Literal(value=bool() as value):
                return Num(int(value))
            case FactRef(type=Type.TRUTH):
                return terms.negation(terms.equal(self._variable(tree), ZERO))
            case Op(op="not", operands=(operand,)):
                return terms.negation(self.truth(operand))
            case Op(op="and" | "or" as op, operands=operands):
                join = terms.conjunction if op == "and" else terms.disjunction
                return join(*map(self.truth, operands))
            case Op(op="in" | "not in" as op, operands=(left, Items(items=items))):
                number = self.number(left)
                among = terms.disjunction(*(terms.equal(number, self.number(item)) for item in items))
                return among if op == "in" else terms.negation(among)
            case Op(op=op, operands=(left, right)) if op in _COMPARE:
                return _COMPARE[op](self.number(left), self.number(right))
            case Op(op="is_power_of_2", operands=(argument,)):
                number = self.number(argument)
                return terms.disjunction(*(terms.equal(number, Num(1 << bit)) for bit in range(_MAX_BITS)))
            case _:
                raise UntranslatedError(tree.op if isinstance(tree, Op) else type(tree).__name__)

    def number(self, tree: Expr) -> Term:
        """A number or data type. Raises `UntranslatedError`."""
        match tree:
            case Literal(value=int() as value, type=Type.NUMBER):
                return Num(value)
            case Literal(value=str() as value, type=Type.DTYPE):
                return Num(_NAMES.index(value))
            case FactRef(type=Type.NUMBER | Type.DTYPE):
                return self._variable(tree)
            case Op(op="neg", operands=(operand,)):
                return terms.sub(ZERO, self.number(operand))
            case Op(op="**", operands=(left, Literal(value=int() as power))) if 0 <= power <= _MAX_EXPONENT:
                return _power(self.number(left), power)
            case Op(op="**", operands=(Literal(value=int() as base), Literal(value=int() as power))) if (
                0 <= power <= _MAX_BITS
            ):
                return Num(base**power)
            case Op(op=op, operands=(left, right)) if op in _COMPUTE:
                return _COMPUTE[op](self.number(left), self.number(right))
            case Op(op="min" | "max" as op, operands=operands):
                join = terms.minimum if op == "min" else terms.maximum
                return reduce(join, map(self.number, operands))
            case Op(op="itemsize", operands=(dtype,)):
                return _itemsize(self.number(dtype))
            case _:
                raise UntranslatedError(tree.op if isinstance(tree, Op) else type(tree).__name__)

    def _variable(self, ref: FactRef) -> Term:
        if not ref.bound:
            raise UntranslatedError(f"{ref.name} is not bound")
        self.types[ref.name] = ref.type
        return Var(ref.name)

    def ranges(self) -> list[Term]:
        """What holds of every fact of its type."""
        most = {Type.TRUTH: 1, Type.DTYPE: len(_NAMES) - 1}
        return [
            terms.conjunction(terms.at_most(ZERO, Var(name)), terms.at_most(Var(name), Num(most[kind])))
            for name, kind in self.types.items()
            if kind in most
        ]

    def numbers(self) -> list[str]:
        """The facts that are numbers."""
        return [name for name, kind in self.types.items() if kind is Type.NUMBER]

    def value(self, name: str, number: int) -> Scalar:
        """A variable's number as the fact's value."""
        match self.types[name]:
            case Type.TRUTH:
                return bool(number)
            case Type.DTYPE:
                return _NAMES[number]
        return number


def _power(base: Term, exponent: int) -> Term:
    result: Term = ONE
    for _ in range(exponent):
        result = terms.mul(result, base)
    return result


def _itemsize(code: Term) -> Term:
    size: Term = ZERO
    for number, name in enumerate(_NAMES):
        size = terms.choice(terms.equal(code, Num(number)), Num(DTYPES[name]), size)
    return size


_COMPUTE: dict[str, Callable[[Term, Term], Term]] = {
    "+": terms.add,
    "-": terms.sub,
    "*": terms.mul,
    "//": terms.floor_div,
    "%": terms.mod,
    "ceil_div": terms.ceil_div,
}
_COMPARE: dict[str, Callable[[Term, Term], Term]] = {
    "==": terms.equal,
    "!=": lambda a, b: terms.negation(terms.equal(a, b)),
    "<": terms.less,
    "<=": terms.at_most,
    ">": lambda a, b: terms.less(b, a),
    ">=": lambda a, b: terms.at_most(b, a),
}
