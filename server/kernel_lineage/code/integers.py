"""Operations on integers of C's types, as kernels do them: what they give, and what is asked whether it fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from kernel_gate.expr import terms
from kernel_gate.expr.lemmas import is_natural
from kernel_gate.expr.terms import FALSE, TRUE, ZERO, Num, Term, is_truth
from kernel_lineage.code.model import Arithmetic, Model
from kernel_lineage.code.values import BOOL, INT32, UINT64, Int, IntType, unknown

COMPARISONS: dict[str, Callable[[Term, Term], Term]] = {
    "<": terms.less,
    "<=": terms.at_most,
    ">": lambda a, b: terms.less(b, a),
    ">=": lambda a, b: terms.at_most(b, a),
    "==": terms.equal,
    "!=": lambda a, b: terms.negation(terms.equal(a, b)),
}


@dataclass(frozen=True, slots=True)
class Site:
    """The place in the code where an operation stands."""

    model: Model
    line: int
    text: str

    @property
    def named(self) -> str:
        """For reasons: its text and line."""
        return f"`{self.text}` on line {self.line}"


def truth_of(term: Term) -> Term:
    """A number as a truth value."""
    if isinstance(term, Num):
        return TRUE if term.value else FALSE
    return term if is_truth(term) else terms.negation(terms.equal(term, ZERO))


def promoted(type_: IntType) -> IntType:
    """A type after integer promotion."""
    return INT32 if type_.bits < 32 else type_


def common(a: IntType, b: IntType) -> IntType:
    """The type in which an operation on two types is done (C++, usual arithmetic conversions)."""
    a, b = promoted(a), promoted(b)
    if a.bits != b.bits:
        return a if a.bits > b.bits else b
    return a if not a.signed else b


def computed(
    site: Site, term: Term, type_: IntType, through: frozenset[int], wrapping: frozenset[int] = frozenset()
) -> Int:
    """The result of an operation; one on 32-bit integers is kept, to be asked whether it fits.

    `wrapping` are the steps of its operands that may wrap; that of an unsigned result may, too, until it is used as
    another number than a term of sums and products: `blockIdx.x * 32 - 1` is a negative `int`.
    """
    if isinstance(term, Num) or type_.bits != 32:
        return Int(term, type_, through)
    steps = site.model.arithmetic
    steps.append(Arithmetic(site.line, site.text, term, type_.least, type_.most, str(type_)))
    own = {len(steps) - 1}
    return Int(term, type_, through | own, frozenset() if type_.signed else wrapping | own)


def fitted(site: Site, value: Int, type_: IntType) -> Int:
    """An integer as another type; one that becomes narrower or changes its sign is asked whether it fits."""
    if type_.least <= value.type.least and value.type.most <= type_.most:
        return replace(value, type=type_, wrapping=value.wrapping if type_.bits == 32 else frozenset())
    if type_.bits == 32:
        # Of sums and products modulo 2³², the last alone has to fit a signed type.
        through = value.arithmetic - value.wrapping if type_.signed else value.arithmetic
        return computed(site, value.term, type_, through, value.wrapping)
    if type_ == UINT64:
        return replace(value, type=type_, wrapping=frozenset())
    if type_ == BOOL:
        return Int(truth_of(value.term), BOOL, value.arithmetic)
    return unknown(site.model, "narrow", type_, f"{site.named} is cut to {type_}")


def negative(site: Site, value: Int) -> Int:
    """`-value`."""
    return computed(site, terms.sub(ZERO, value.term), value.type, value.arithmetic, value.wrapping)


def complement(value: Int) -> Int:
    """`~value`."""
    return Int(terms.sub(Num(-1), value.term), value.type, value.arithmetic)


def operated(site: Site, operator: str, a: Int, b: Int) -> Int:
    """`a operator b` as C's operator does it; unknown where a term cannot say it."""
    x, y = a.term, b.term
    through = a.arithmetic | b.arithmetic
    if operator in COMPARISONS:
        return Int(COMPARISONS[operator](x, y), BOOL, through)
    type_ = common(a.type, b.type)
    wrapping = a.wrapping | b.wrapping
    match operator:
        case "+":
            return computed(site, terms.add(x, y), type_, through, wrapping)
        case "-":
            return computed(site, terms.sub(x, y), type_, through, wrapping)
        case "*":
            return computed(site, terms.mul(x, y), type_, through, wrapping)
        case "/" | "%":
            return _divided(site, operator, replace(a, type=type_), b, through)
        case "<<":
            return computed(site, terms.bitwise(operator, x, y), promoted(a.type), through)
        case ">>":
            return Int(terms.bitwise(operator, x, y), promoted(a.type), through)
        case "&" | "|" | "^":
            return Int(terms.bitwise(operator, x, y), type_, through)
    return unknown(site.model, "value", type_, site.named)


def _divided(site: Site, operator: str, a: Int, b: Int, through: frozenset[int]) -> Int:
    """C rounds towards zero; that is floor division where nothing is negative."""
    whole = terms.floor_div if operator == "/" else terms.mod
    if is_natural(a.term, frozenset(site.model.naturals)):
        return Int(whole(a.term, b.term), a.type, through)
    truncated = terms.quotient if operator == "/" else terms.remainder
    return Int(truncated(a.term, b.term), a.type, through)
