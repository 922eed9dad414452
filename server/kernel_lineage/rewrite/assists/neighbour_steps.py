"""How an integer of a kernel goes on from one element to the next, within a group of neighbouring elements.

`(i / half) % heads` is the same for elements 4 q to 4 q + 3 where half is a multiple of four, and `i % half` goes up by
one. What has to be a multiple of the group's size for that is collected, and asked at run time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kernel_gate.expr.polynomials import (
    Monomial,
    Polynomial,
    coefficient_of,
    plus,
    polynomial,
    term_of,
    times,
)
from kernel_gate.expr.terms import Num, Op, Term, Var, rebuilt, variables

ELEMENT = Var("element")
"""A thread's element; the first one of a group is a multiple of the group's size."""
_THREAD = Var("threadIdx.x")
_OF_THE_ELEMENT = {_THREAD.name, "blockIdx.x"}
_OF_THE_THREAD = {f"{what}.{axis}" for what in ("threadIdx", "blockIdx") for axis in "yz"} | {
    f"{what}.{axis}" for what in ("blockDim", "gridDim") for axis in "xyz"
}


def over_element(term: Term, element: Polynomial) -> Term:
    """A term over `ELEMENT`, whose own value over threads and rounds is `element`, wherever it is told by it."""
    whole = (
        rebuilt(term.name, tuple(over_element(a, element) for a in term.args))
        if isinstance(term, Op)
        else term
    )
    if isinstance(whole, Num) or (isinstance(whole, Op) and whole.name not in ("+", "*")):
        return whole
    parts = coefficient_of(polynomial(whole), _THREAD)
    own = coefficient_of(element, _THREAD)
    if parts is None or own is None or not parts[0] or own[0] != {(): 1}:
        return whole
    rest = plus(polynomial(whole), times({(): -1}, times(parts[0], element)))
    return term_of(plus(times(parts[0], {(ELEMENT,): 1}), rest))


@dataclass(slots=True)
class NeighbourSteps:
    """Steps of terms over `ELEMENT` in groups of `lanes`."""

    lanes: int
    arguments: frozenset[str]
    """What is the same for the whole launch: the kernel's arguments."""
    depends: Mapping[str, tuple[Term, ...] | None]
    """Variable that stands for data → what its place follows from."""
    element: Polynomial
    around: tuple[str, ...] = ()
    """The loops that count elements."""
    needs: dict[Term, None] = field(default_factory=dict)
    """Terms over arguments that have to be multiples of `lanes`."""

    def trial(self) -> NeighbourSteps:
        """A copy whose needs are its own."""
        return NeighbourSteps(
            self.lanes, self.arguments, self.depends, self.element, self.around, dict(self.needs)
        )

    def least(self) -> list[Term]:
        """The needs that no other one implies: a product is a multiple where a factor is one."""
        return [n for n in self.needs if not self._implied(n)]

    def _implied(self, need: Term) -> bool:
        others = [n for n in self.needs if n != need]
        return all(c % self.lanes == 0 or any(f in others for f in m) for m, c in polynomial(need).items())

    def step(self, term: Term) -> int | None:
        """What is added from one element of a group to the next; None where that is not known."""
        total = 0
        for monomial, coefficient in polynomial(term).items():
            steps = [self._factor(f) for f in monomial]
            if None in steps:
                return None
            moving = [s for s in steps if s]
            if moving and len(monomial) > 1:
                return None
            total += coefficient * (moving[0] or 0 if moving else 0)
        return total

    def begins_group(self, term: Term) -> bool:
        """Whether a term is a multiple of `lanes` for the first element of a group, with what is asked for that."""
        return all(self._divides(m, c) for m, c in polynomial(term).items())

    def _factor(self, factor: Term) -> int | None:
        match factor:
            case Var(name) if factor == ELEMENT:
                return 1
            case Var(name) if name in self.arguments or name in _OF_THE_THREAD:
                return 0
            case Var("blockIdx.x") if not any("blockIdx.x" in variables(f) for m in self.element for f in m):
                return 0  # Elements are counted within a block.
            case Var(name):
                follows = self.depends.get(name)
                if follows is None or name in _OF_THE_ELEMENT:
                    return None
                same = all(self.step(over_element(t, self.element)) == 0 for t in follows)
                return 0 if same else None
            case Op("//" | "quot" | "%" | "rem" as name, (what, by)):
                return self._split(name, what, by)
            case Op(_, args):
                return 0 if all(self.step(a) == 0 for a in args) else None
        return None

    def _split(self, name: str, what: Term, by: Term) -> int | None:
        """The step of a quotient or a remainder: whole groups lie between two multiples of a multiple of `lanes`."""
        moved = self.step(what)
        if moved == 0 and self.step(by) == 0:
            return 0
        if moved != 1 or not self.begins_group(what) or not self._asked(by):
            return None
        return 1 if name in ("%", "rem") else 0

    def _divides(self, monomial: Monomial, coefficient: int) -> bool:
        if coefficient % self.lanes == 0 or any(f == ELEMENT or f in self.needs for f in monomial):
            return True
        for factor in monomial:
            match factor:
                case Op("%" | "rem", (what, by)) if self.begins_group(what) and self._asked(by):
                    return True
        shared = [f for f in monomial if self._is_shared(f)]
        return bool(shared) and self._asked(term_of({tuple(shared): coefficient}))

    def _asked(self, term: Term) -> bool:
        """Whether a term can be asked to be a multiple of `lanes`, or is one."""
        if isinstance(term, Num):
            return term.value % self.lanes == 0 and term.value != 0
        if not self._is_shared(term):
            return False
        whole = polynomial(term)
        if not all(c % self.lanes == 0 or any(f in self.needs for f in m) for m, c in whole.items()):
            self.needs[term] = None
        return True

    def _is_shared(self, term: Term) -> bool:
        return set(variables(term)) <= self.arguments
