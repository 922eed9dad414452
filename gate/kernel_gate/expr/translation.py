"""Terms as Z3's expressions over integers: the one translation that there is."""

from __future__ import annotations

import threading
from functools import reduce
from typing import Any

from kernel_gate.expr.polynomials import Polynomial, polynomial
from kernel_gate.expr.terms import BITWISE, Num, Op, Term, Var, is_truth

_OF_THREAD = threading.local()


def _context(z3: Any) -> Any:
    """Z3's state of this thread: two threads may not share one."""
    if not hasattr(_OF_THREAD, "context"):
        _OF_THREAD.context = z3.Context()
    return _OF_THREAD.context


class Translation:
    """Terms as Z3's, with one variable for each name."""

    def __init__(self, z3: Any) -> None:
        self.z3 = z3
        self.context = _context(z3)
        self.variables: dict[str, Any] = {}
        self.definitions: list[Any] = []
        """What holds of the quotients that occur in what was translated."""
        self.approximated: list[Term] = []
        """Operations on bits, of which only the limits are translated: values that keep them may be none."""
        self._numbers: dict[Term, Any] = {}

    def truth(self, term: Term) -> Any:
        """A truth value; a number counts as true unless it is 0."""
        match term:
            case Num(value):
                return self.z3.BoolVal(bool(value), self.context)
            case Op("and", parts):
                return self.z3.And(*map(self.truth, parts), self.context)
            case Op("or" | "|", parts):
                return self.z3.Or(*map(self.truth, parts), self.context)
            case Op("not", (part,)):
                return self.z3.Not(self.truth(part))
            case Op("ite", (condition, yes, no)) if is_truth(yes) and is_truth(no):
                return self.z3.If(self.truth(condition), self.truth(yes), self.truth(no))
            case Op("<", (a, b)):
                return self.number(a) < self.number(b)
            case Op("<=", (a, b)):
                return self.number(a) <= self.number(b)
            case Op("==", (a, b)):
                return self.number(a) == self.number(b)
            case _:
                return self.number(term) != 0

    def number(self, term: Term) -> Any:
        """An integer; a truth value counts as 0 or 1."""
        if term not in self._numbers:
            self._numbers[term] = self._number(term)
        return self._numbers[term]

    def _number(self, term: Term) -> Any:
        match term:
            case Num(value):
                return self.z3.IntVal(value, self.context)
            case Var(name):
                return self.variables.setdefault(name, self.z3.Int(name, self.context))
            case Op("+" | "*", _):
                return self._polynomial(polynomial(term))
            case Op("//", (a, Num(value))) if value > 0:
                return self.number(a) / value
            case Op("%", (a, Num(value))) if value > 0:
                return self.number(a) % value
            case Op("//", (a, b)):
                return self._quotient(self.number(a), self.number(b))
            case Op("%", (a, b)):
                return self.number(a) - self.number(b) * self.number(Op("//", (a, b)))
            case Op("quot", (a, b)):
                return self._truncated(self.number(a), self.number(b))
            case Op("rem", (a, b)):
                return self.number(a) - self.number(b) * self.number(Op("quot", (a, b)))
            case Op(name, (a, b)) if name in BITWISE:
                return self._bits(term, self.number(a), self.number(b))
            case Op("min" | "max" as name, (a, b)):
                x, y = self.number(a), self.number(b)
                return self.z3.If(x < y if name == "min" else x > y, x, y)
            case Op("ite", (condition, yes, no)):
                return self.z3.If(self.truth(condition), self.number(yes), self.number(no))
            case _:
                return self.z3.If(
                    self.truth(term), self.z3.IntVal(1, self.context), self.z3.IntVal(0, self.context)
                )

    def _quotient(self, a: Any, b: Any) -> Any:
        """A quotient by its definition: Z3 does little with a division by a variable."""
        quotient = self.z3.Int(f"quotient {len(self.definitions)}", self.context)
        behind = self.z3.And(quotient * b <= a, a < quotient * b + b)
        self.definitions.append(self.z3.Implies(b > 0, behind))
        return quotient

    def _truncated(self, a: Any, b: Any) -> Any:
        """C++'s quotient: the part of a that b does not divide has the sign of a and is smaller than b."""
        quotient = self.z3.Int(f"quotient {len(self.definitions)}", self.context)
        rest, size = a - quotient * b, self.z3.If(b < 0, -b, b)
        above = self.z3.And(rest >= 0, rest < size)
        below = self.z3.And(-size < rest, rest <= 0)
        self.definitions.append(self.z3.Implies(b != 0, self.z3.If(a >= 0, above, below)))
        return quotient

    def _bits(self, term: Op, a: Any, b: Any) -> Any:
        """Some number within the limits that operands which are not negative give."""
        result = self.z3.Int(f"bits {len(self.definitions)}", self.context)
        match term.name:
            case "&":
                within = self.z3.And(result >= 0, result <= a, result <= b)
            case "|":
                within = self.z3.And(a <= result, b <= result, result <= a + b)
            case "^":
                within = self.z3.And(result >= 0, result <= a + b)
            case "<<":
                within = a <= result
            case _:
                within = self.z3.And(result >= 0, result <= a)
        self.definitions.append(self.z3.Implies(self.z3.And(a >= 0, b >= 0), within))
        self.approximated.append(term)
        return result

    def _polynomial(self, of: Polynomial) -> Any:
        parts = [
            reduce(
                lambda a, b: a * b,
                (self.number(f) for f in monomial),
                self.z3.IntVal(coefficient, self.context),
            )
            for monomial, coefficient in of.items()
        ]
        return self.z3.Sum(*parts) if parts else self.z3.IntVal(0, self.context)
