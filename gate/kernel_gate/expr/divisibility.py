"""Promised multiples put into the terms: where `C % 8 == 0` is assumed, C is 8 times another variable.

Quotients and remainders by the same number then fold, and with them most of what makes a question of tiles hard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import lcm

from kernel_gate.expr.polynomials import polynomial, term_of
from kernel_gate.expr.terms import Num, Op, Term, Var, add, at_most, floor_div, mod, mul, rebuilt


@dataclass(frozen=True, slots=True)
class Divided:
    """Conditions over the quotients of the variables that are promised to be multiples."""

    conditions: tuple[Term, ...]
    divisors: Mapping[str, int]
    """Variable → what it is a multiple of."""

    def never_negative(self, names: Iterable[str]) -> frozenset[str]:
        """The variables that are never negative, the quotients too."""
        bases = frozenset(names)
        return bases | {_quotient(name, k).name for name, k in self.divisors.items() if name in bases}

    def values(self, solution: Mapping[str, int]) -> dict[str, int]:
        """Values of the conditions' variables as values of those that were asked about."""
        values = dict(solution)
        for name, divisor in self.divisors.items():
            values[name] = divisor * values.pop(_quotient(name, divisor).name, 0)
        return values


def divided(conditions: Sequence[Term]) -> Divided:
    """The same conditions, with each promised multiple as a product."""
    divisors: dict[str, int] = {}
    for name, divisor in _multiples(conditions):
        divisors[name] = lcm(divisors.get(name, 1), divisor)
    if not divisors:
        return Divided(tuple(conditions), {})
    parts = {name: mul(Num(k), _quotient(name, k)) for name, k in divisors.items()}
    positive = [
        at_most(Num(1), _quotient(name, k))
        for name, k in divisors.items()
        if any(at_most(Num(least), Var(name)) in conditions for least in range(1, k + 1))
    ]
    cache: dict[Term, Term] = {}
    return Divided((*(_folded(c, parts, cache) for c in conditions), *positive), divisors)


def _quotient(name: str, divisor: int) -> Var:
    return Var(f"{name} / {divisor}")


def _multiples(conditions: Iterable[Term]) -> Iterator[tuple[str, int]]:
    for condition in conditions:
        match condition:
            case Op("==", (Op("%", (Var(name), Num(divisor))), Num(0))) if divisor > 1:
                yield name, divisor
            case Op("and", parts):
                yield from _multiples(parts)


def _folded(term: Term, parts: Mapping[str, Term], cache: dict[Term, Term]) -> Term:
    """The term with variables replaced; what a divisor divides is taken out of quotients and remainders."""
    if term in cache:
        return cache[term]
    match term:
        case Num():
            result: Term = term
        case Var(name):
            result = parts.get(name, term)
        case Op("//" | "%" as name, (a, b)):
            result = _split(name, _folded(a, parts, cache), _folded(b, parts, cache))
        case Op(name, args):
            result = rebuilt(name, tuple(_folded(a, parts, cache) for a in args))
    cache[term] = result
    return result


def _split(name: str, a: Term, b: Term) -> Term:
    if not isinstance(b, Num) or b.value <= 0:
        return floor_div(a, b) if name == "//" else mod(a, b)
    whole = {m: c // b.value for m, c in polynomial(a).items() if m and c % b.value == 0}
    if not whole:
        return floor_div(a, b) if name == "//" else mod(a, b)
    rest = term_of({m: c for m, c in polynomial(a).items() if m not in whole})
    return mod(rest, b) if name == "%" else add(term_of(whole), floor_div(rest, b))
