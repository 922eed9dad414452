"""Terms as polynomials over variables and opaque parts: for divisibility, strides and product lemmas."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, reduce
from math import gcd

from kernel_gate.expr.terms import ONE, ZERO, Num, Op, Term, Var, add, mul

Monomial = tuple[Term, ...]
"""Factors in a fixed order; () is the constant 1. A factor is a variable or an operation that is no polynomial."""

Polynomial = Mapping[Monomial, int]


@lru_cache(maxsize=16384)
def polynomial(term: Term) -> Polynomial:
    """The normal form. Every coefficient is not 0."""
    match term:
        case Num(value):
            return {(): value} if value else {}
        case Op("+", (a, b)):
            return plus(polynomial(a), polynomial(b))
        case Op("*", (a, b)):
            return times(polynomial(a), polynomial(b))
        case Op("%", (a, b)) if not isinstance(b, Num):
            quotient: Polynomial = {(Op("//", (a, b)),): -1}
            return plus(polynomial(a), times(quotient, polynomial(b)))
        case _:
            return {(term,): 1}


def plus(a: Polynomial, b: Polynomial) -> Polynomial:
    """The sum."""
    total = dict(a)
    for monomial, coefficient in b.items():
        total[monomial] = total.get(monomial, 0) + coefficient
    return {m: c for m, c in total.items() if c}


def times(a: Polynomial, b: Polynomial) -> Polynomial:
    """The product."""
    total: dict[Monomial, int] = {}
    for one, x in a.items():
        for other, y in b.items():
            monomial = tuple(sorted((*one, *other), key=str))
            total[monomial] = total.get(monomial, 0) + x * y
    return {m: c for m, c in total.items() if c}


def content(of: Polynomial) -> int:
    """The greatest common divisor of the coefficients; 0 of the zero polynomial."""
    return reduce(gcd, of.values(), 0)


def term_of(of: Polynomial) -> Term:
    """The polynomial as a term, smallest monomials last."""
    total: Term = ZERO
    for monomial, coefficient in sorted(of.items(), key=lambda item: (-len(item[0]), str(item[0]))):
        total = add(total, mul(Num(coefficient), _product(monomial)))
    return total


def _product(factors: Monomial) -> Term:
    product: Term = ONE
    for factor in factors:
        product = mul(product, factor)
    return product


def normal(term: Term) -> Term:
    """A sum of products in a fixed order: equal polynomials are equal terms."""
    return term_of(polynomial(term))


def coefficient_of(of: Polynomial, variable: Var) -> tuple[Polynomial, Polynomial] | None:
    """`stride, rest` of `stride * variable + rest`; None when it stands in a higher power or within another part."""
    stride: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for monomial, coefficient in of.items():
        times_seen = monomial.count(variable)
        if times_seen > 1 or any(_within(factor, variable) for factor in monomial if factor != variable):
            return None
        if times_seen:
            others = list(monomial)
            others.remove(variable)
            stride[tuple(others)] = coefficient
        else:
            rest[monomial] = coefficient
    return stride, rest


def _within(term: Term, variable: Var) -> bool:
    return term == variable or (isinstance(term, Op) and any(_within(a, variable) for a in term.args))
