"""Whether assumptions imply a claim, by Z3 (the extra `prove`): proved, refuted with values, or not decided.

Numbers are mathematical integers. Products of variables are helped by lemmas: where a bound `a <= b` is assumed and
c is a variable that is never negative, so is (b - a) * c.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import reduce
from typing import Any

from kernel_lineage.solving.polynomials import Polynomial, plus, polynomial, term_of, times
from kernel_lineage.solving.terms import (
    Num,
    Op,
    Term,
    Var,
    add,
    at_most,
    less,
    maximum,
    mul,
    negation,
    sub,
    variables,
)

LIMIT_MS = 5_000
MISSING = "z3 is not installed (pip install 'kernel-lineage[prove]')"
_MOST_LEMMAS = 120
_TRUTHS = frozenset({"<", "<=", "==", "and", "or", "not"})


class SolverMissingError(Exception):
    """Z3 is not installed; the message says how to get it."""


class Decision(StrEnum):
    """How a question ended."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Answer:
    """A decision with what supports it."""

    decision: Decision
    values: Mapping[str, int] = field(default_factory=dict)
    """Of a refutation: values of all variables that keep the assumptions and break the claim."""
    reason: str = ""


def decide(
    assumptions: Sequence[Term], claim: Term, *, limit_ms: int = LIMIT_MS, never_negative: Iterable[str] = ()
) -> Answer:
    """Whether every assignment that keeps all assumptions satisfies the claim. Raises `SolverMissingError`."""
    broken = negation(claim)
    return found(
        [*assumptions, broken],
        limit_ms=limit_ms,
        lemmas=product_lemmas([*assumptions, broken], never_negative),
    )


def found(conditions: Sequence[Term], *, limit_ms: int = LIMIT_MS, lemmas: Sequence[Term] = ()) -> Answer:
    """`REFUTED` with values that keep all conditions, `PROVED` when there are none. Raises `SolverMissingError`."""
    try:
        import z3
    except ImportError as error:
        raise SolverMissingError(MISSING) from error
    translation = Translation(z3)
    solver = z3.Solver()
    solver.set("timeout", max(1, limit_ms))
    for condition in (*conditions, *lemmas):
        solver.add(translation.truth(condition))
    solver.add(*translation.definitions)
    started = time.monotonic()
    answer = solver.check()
    if answer == z3.unsat:
        return Answer(Decision.PROVED)
    if answer == z3.unknown:
        return Answer(
            Decision.UNDECIDED,
            reason=f"not decided by Z3 within {max(limit_ms / 1000, time.monotonic() - started):.2g} s",
        )
    model = solver.model()
    values = {
        name: model.eval(variable, model_completion=True).as_long()
        for name, variable in translation.variables.items()
    }
    return Answer(Decision.REFUTED, values)


def product_lemmas(conditions: Sequence[Term], never_negative: Iterable[str]) -> list[Term]:
    """Consequences that take the solver past products: bounds times variables that occur in products."""
    known = frozenset(never_negative)
    conditions = [*conditions, *_of_quotients(conditions, known)]
    factors = {
        factor
        for condition in conditions
        for side in _sides(condition)
        for monomial in polynomial(side)
        if len(monomial) > 1
        for factor in monomial
    }
    scales = [f for f in sorted(factors, key=str) if isinstance(f, Var) and f.name in known]
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
    found: dict[Term, None] = {}
    waiting: list[Term] = list(conditions)
    while waiting:
        here = waiting.pop()
        if isinstance(here, Op):
            if here.name in ("//", "%") and not isinstance(here.args[1], Num):
                found[Op("//", here.args)] = None
            waiting += here.args
    known = []
    for quotient in found:
        assert isinstance(quotient, Op)
        a, b = quotient.args
        if is_natural(b, never_negative):
            below = mul(quotient, b)
            known += [at_most(below, a), less(a, add(below, maximum(b, Num(1))))]
    return known


def is_natural(term: Term, never_negative: frozenset[str]) -> bool:
    """Whether a term cannot be negative by its form; divisors count as positive."""
    match term:
        case Num(value):
            return value >= 0
        case Var(name):
            return name in never_negative
        case Op("+" | "*" | "min" | "//", parts):
            return all(is_natural(part, never_negative) for part in parts)
        case Op("%", _):
            return True
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
    if isinstance(condition, Op) and condition.name in _TRUTHS:
        return [side for part in condition.args for side in _sides(part)]
    return [condition]


class Translation:
    """Terms as Z3's, with one variable for each name."""

    def __init__(self, z3: Any) -> None:
        self.z3 = z3
        self.variables: dict[str, Any] = {}
        self.definitions: list[Any] = []
        """What holds of the quotients that occur in what was translated."""
        self._numbers: dict[Term, Any] = {}

    def truth(self, term: Term) -> Any:
        """A truth value; a number counts as true unless it is 0."""
        match term:
            case Num(value):
                return self.z3.BoolVal(bool(value))
            case Op("and", parts):
                return self.z3.And(*map(self.truth, parts))
            case Op("or", parts):
                return self.z3.Or(*map(self.truth, parts))
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
                return self.z3.IntVal(value)
            case Var(name):
                return self.variables.setdefault(name, self.z3.Int(name))
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
            case Op("min" | "max" as name, (a, b)):
                x, y = self.number(a), self.number(b)
                return self.z3.If(x < y if name == "min" else x > y, x, y)
            case Op("ite", (condition, yes, no)):
                return self.z3.If(self.truth(condition), self.number(yes), self.number(no))
            case _:
                return self.z3.If(self.truth(term), self.z3.IntVal(1), self.z3.IntVal(0))

    def _quotient(self, a: Any, b: Any) -> Any:
        """A quotient by its definition: Z3 does little with a division by a variable."""
        quotient = self.z3.Int(f"quotient {len(self.definitions)}")
        behind = self.z3.And(quotient * b <= a, a < quotient * b + b)
        self.definitions.append(self.z3.Implies(b > 0, behind))
        return quotient

    def _polynomial(self, of: Polynomial) -> Any:
        parts = [
            reduce(lambda a, b: a * b, (self.number(f) for f in monomial), self.z3.IntVal(coefficient))
            for monomial, coefficient in of.items()
        ]
        return self.z3.Sum(*parts) if parts else self.z3.IntVal(0)


def is_truth(term: Term) -> bool:
    """Whether a term is a truth value by its form."""
    return (isinstance(term, Num) and term.value in (0, 1)) or (isinstance(term, Op) and term.name in _TRUTHS)


def names_in(terms: Iterable[Term]) -> frozenset[str]:
    """The variables of several terms."""
    return frozenset(name for term in terms for name in variables(term))
