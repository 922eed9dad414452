"""How an integer of a kernel goes on between elements that lie whole strides apart, within one digit of a flat index.

Where `i` counts `((n * K + k) * H + h) * W + w`, the elements `i`, `i + W * H`, `i + 2 * W * H` differ in `k` alone, as
long as the first `k` and `K` are multiples of how many there are: `i / W % H` is the same for them, and
`i / (W * H) % K` goes up by one. What has to be a multiple for that is collected, and asked at run time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from kernel_gate.expr.polynomials import Polynomial, plus, polynomial, term_of, times
from kernel_gate.expr.terms import Num, Op, Term, Var, mul, variables
from kernel_lineage.rewrite.assists.neighbour_steps import ELEMENT, over_element
from kernel_lineage.rewrite.assists.term_text import c_text

_DIVISIONS = ("//", "quot")
_ONE: Polynomial = {(): 1}
_ELEMENT: Polynomial = {(ELEMENT,): 1}


def divided(what: Polynomial, by: Polynomial) -> Polynomial | None:
    """The quotient of two polynomials; None where the division leaves something, or is by zero."""
    if not by:
        return None

    def order(monomial: tuple[Term, ...]) -> tuple[int, list[str]]:
        return len(monomial), [str(f) for f in monomial]

    lead = max(by, key=order)
    whole: Polynomial = {}
    while what:
        first = max(what, key=order)
        rest = list(first)
        for factor in lead:
            if factor not in rest:
                return None
            rest.remove(factor)
        if what[first] % by[lead]:
            return None
        part = {tuple(rest): what[first] // by[lead]}
        whole = plus(whole, part)
        what = plus(what, times({(): -1}, times(part, by)))
    return whole


def remainder_of(term: Term) -> tuple[Term, Term] | None:
    """`a, b` of `a % b`, also where it is written `a - a / b * b`."""
    if isinstance(term, Op) and term.name in ("%", "rem"):
        return term.args[0], term.args[1]
    whole = polynomial(term)
    for factor in {f for monomial in whole for f in monomial}:
        if isinstance(factor, Op) and factor.name in _DIVISIONS:
            what, by = factor.args
            if plus(whole, times({(factor,): 1}, polynomial(by))) == polynomial(what):
                return what, by
    return None


def digit_of(term: Term) -> tuple[Term, Term | None, Term] | None:
    """`inner`, `above` and `below` of a digit `i / inner % (above / below)` of `ELEMENT`; None for what is no digit.

    `i / P % E` is (P, E, 1), `i % S / P` is (P, S, P), and `i / P` has nothing above it.
    """
    if polynomial(term) == _ELEMENT:
        return Num(1), None, Num(1)
    parts = digit_of(term.args[0]) if isinstance(term, Op) and term.args else None
    if parts is None:
        return None
    assert isinstance(term, Op)
    inner, above, below = parts
    by = term.args[-1]
    if term.name in _DIVISIONS:
        return mul(inner, by), above, below if above is None else mul(below, by)
    if term.name not in ("%", "rem"):
        return None
    if above is None:
        return inner, by, Num(1)
    # The remainder of a remainder is one of the whole where it is by a divisor.
    fits = divided(polynomial(above), times(polynomial(below), polynomial(by)))
    return (inner, by, Num(1)) if fits is not None else None


def strides_in(term: Term) -> list[Polynomial]:
    """How far elements lie apart that differ in one digit, for each digit that a term over `ELEMENT` takes apart."""
    strides: list[Polynomial] = []
    _scale(term, strides)
    return strides


def _scale(term: Term, strides: list[Polynomial]) -> Polynomial | None:
    """How many elements one step of a digit is; None of what is no digit."""
    if polynomial(term) == _ELEMENT:
        return _ONE
    inner = remainder_of(term)
    parts = inner or (term.args if isinstance(term, Op) and term.name in _DIVISIONS else None)
    if parts is None:
        for argument in term.args if isinstance(term, Op) else ():
            _scale(argument, strides)
        return None
    scale = _scale(parts[0], strides)
    if scale is None:
        return None
    stride = times(scale, polynomial(parts[1]))
    strides.append(stride)
    return scale if inner else stride


@dataclass(slots=True)
class DigitSteps:
    """Steps of terms over `ELEMENT` between `count` elements that lie `stride` apart."""

    stride: Polynomial
    count: int
    arguments: frozenset[str]
    """What is the same for the whole launch."""
    depends: Mapping[str, tuple[Term, ...] | None]
    """Variable that stands for data → what its place follows from."""
    element: Polynomial
    """What an element is over threads."""
    within: Polynomial | None = None
    """The extent of a digit that the elements do not leave; None: what has to be a multiple of `count` is asked for."""
    needs: dict[Term, None] = field(default_factory=dict)
    """Terms over arguments that have to be multiples of `count`."""

    def step(self, term: Term) -> Polynomial | None:
        """What is added from one element to the next; None where that is not known."""
        total: Polynomial = {}
        for monomial, coefficient in polynomial(term).items():
            steps = [self._factor(f) for f in monomial]
            moving = [k for k, s in enumerate(steps) if s != {}]
            if not moving:
                continue
            first = steps[moving[0]]
            if len(moving) > 1 or first is None:
                return None
            others = monomial[: moving[0]] + monomial[moving[0] + 1 :]
            total = plus(total, times({others: coefficient}, first))
        return total

    def _factor(self, factor: Term) -> Polynomial | None:
        if factor == ELEMENT:
            return self.stride
        if isinstance(factor, Var):
            if factor.name in self.arguments or factor.name.startswith(("blockDim", "gridDim")):
                return {}
            follows = self.depends.get(factor.name)
            same = follows is not None and all(
                self.step(over_element(t, self.element)) == {} for t in follows
            )
            return {} if same else None
        if isinstance(factor, Op) and factor.name in (*_DIVISIONS, "%", "rem"):
            return self._digit(factor)
        same = isinstance(factor, Op) and all(self.step(a) == {} for a in factor.args)
        return {} if same else None

    def _digit(self, term: Term) -> Polynomial | None:
        """The step of a quotient or a remainder; None where it is no digit of the element.

        The first element's digit at the stride is a multiple of `count`, and so is that of each digit of it.
        """
        if polynomial(term) == _ELEMENT:
            return self.stride
        inner = remainder_of(term)
        parts = inner or (term.args if isinstance(term, Op) and term.name in _DIVISIONS else None)
        if parts is None:
            return None
        what, by = parts
        if self.step(what) == {} and self.step(by) == {}:
            return {}
        moved, size = self._digit(what), polynomial(by)
        if moved is None or not set(variables(by)) <= self.arguments:
            return None
        many = divided(moved, size)
        if many is not None:
            return {} if inner else many
        fits = divided(size, moved)
        if fits is None:
            return None
        if self.within is not None:
            if divided(fits, self.within) is None:
                return None
        elif any(c % self.count for c in fits.values()):
            self.needs[term_of(fits)] = None
        return moved if inner else {}


@dataclass(frozen=True, slots=True)
class Digit:
    """A digit of which a thread has several elements."""

    steps: DigitSteps
    number: str
    """Which of the digit's elements one is, as code."""
    wide: bool
    """Elements are counted in 64 bits, and so is what they are taken apart by."""

    @property
    def stride(self) -> str:
        """How far the elements lie apart, as code."""
        return factor_text(c_text(term_of(self.steps.stride), wide=self.wide))


def count_of(digits: tuple[Digit, ...]) -> int:
    """How many elements a thread has."""
    return prod(digit.steps.count for digit in digits)


def factor_text(code: str) -> str:
    """Code that can stand as a factor."""
    return code if code.isidentifier() or code.isdigit() else f"({code})"
