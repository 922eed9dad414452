"""Consequences that take the solver past products and quotients of variables, which it does little with.

Where a bound `a <= b` is assumed and c is a variable that is never negative, so is (b - a) * c.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kernel_gate.expr.polynomials import Polynomial, plus, polynomial, term_of, times
from kernel_gate.expr.terms import (
    TRUTHS,
    Num,
    Op,
    Term,
    Var,
    add,
    at_most,
    is_truth,
    less,
    maximum,
    mul,
    sub,
)

_MOST_LEMMAS = 120


def product_lemmas(conditions: Sequence[Term], never_negative: Iterable[str]) -> list[Term]:
    """Consequences that take the solver past products: bounds times variables that occur in products."""
    naturals = frozenset(never_negative)
    conditions = [*conditions, *_of_quotients(conditions, naturals)]
    factors = {
        factor
        for condition in conditions
        for side in _sides(condition)
        for monomial in polynomial(side)
        if len(monomial) > 1
        for factor in monomial
    }
    scales = [f for f in sorted(factors, key=str) if isinstance(f, Var) and f.name in naturals]
    lemmas: list[Term] = []
    for scale in scales:
        by: Polynomial = {(scale,): 1}
        for condition in conditions:
            for gap in _gaps(condition):
                if not any(any(f != scale for f in m) for m in gap) or max(map(len, gap), default=0) > 2:
                    continue
                lemmas.append(at_most(Num(0), term_of(times(gap, by))))
                if len(lemmas) >= _MOST_LEMMAS:
                    return lemmas
    return lemmas


def _of_quotients(conditions: Sequence[Term], never_negative: frozenset[str]) -> list[Term]:
    """`q * b <= a < q * b + b` for each quotient by a product of variables."""
    quotients: dict[Term, None] = {}
    waiting: list[Term] = list(conditions)
    while waiting:
        here = waiting.pop()
        if isinstance(here, Op):
            if here.name in ("//", "%") and not isinstance(here.args[1], Num):
                quotients[Op("//", here.args)] = None
            waiting += here.args
    lemmas = []
    for quotient in quotients:
        assert isinstance(quotient, Op)
        a, b = quotient.args
        if is_natural(b, never_negative):
            below = mul(quotient, b)
            lemmas += [at_most(below, a), less(a, add(below, maximum(b, Num(1))))]
    return lemmas


def is_natural(term: Term, never_negative: frozenset[str]) -> bool:
    """Whether a term cannot be negative by its form; divisors count as positive."""
    match term:
        case Num(value):
            return value >= 0
        case Var(name):
            return name in never_negative
        case Op("+" | "*" | "min" | "//" | "quot" | "|" | "^" | "<<" | ">>", parts):
            return all(is_natural(part, never_negative) for part in parts)
        case Op("rem", (a, _)):
            return is_natural(a, never_negative)
        case Op("&", parts):
            return any(is_natural(part, never_negative) for part in parts)
        case Op("%", (_, b)):
            return is_natural(b, never_negative)
        case Op("max", parts):
            return any(is_natural(part, never_negative) for part in parts)
        case Op("ite", (_, yes, no)):
            return is_natural(yes, never_negative) and is_natural(no, never_negative)
        case Op():
            return is_truth(term)


def _gaps(condition: Term) -> list[Polynomial]:
    """What a condition says to be at least 0."""
    match condition:
        case Op("<=", (a, b)):
            return [polynomial(sub(b, a))]
        case Op("<", (a, b)):
            return [plus(polynomial(sub(b, a)), {(): -1})]
        case Op("==", (a, b)):
            gap = polynomial(sub(b, a))
            return [gap, times(gap, {(): -1})]
        case Op("and", parts):
            return [gap for part in parts for gap in _gaps(part)]
        case _:
            return []


def _sides(condition: Term) -> list[Term]:
    if isinstance(condition, Op) and condition.name in TRUTHS:
        return [side for part in condition.args for side in _sides(part)]
    return [condition]
