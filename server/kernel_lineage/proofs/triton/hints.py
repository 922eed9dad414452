"""What a Triton kernel tells the compiler of its values: `tl.multiple_of`, `tl.max_contiguous`, `tl.assume` and kin.

The compiler believes these and widens or drops accesses by them. Without them it derives the alignment of a block's
addresses itself: from the divisibility of the arguments, by which each launch is specialised, and from `tl.arange`. So
nothing is to be proved of a `tl.load` of contiguous lanes; a hint that is not so is what makes one go wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernel_gate.expr.terms import (
    ONE,
    ZERO,
    Num,
    Term,
    Var,
    add,
    disjunction,
    equal,
    less,
    mod,
    mul,
    negation,
)
from kernel_lineage.code.integers import truth_of
from kernel_lineage.code.model import Ways
from kernel_lineage.proofs.triton.called import Called
from kernel_lineage.proofs.triton.values import Constant, Other, Pointers, Tile, Tuple, Value, lane, why


@dataclass(frozen=True, slots=True)
class _Axis:
    """The values along one axis of a block; a number by itself is its own axis."""

    place: Term
    extent: Term
    here: Term
    after: Term
    """The value of the next lane."""
    unit: int
    """How far apart neighbours are: 1, or the bytes of an element for addresses."""

    def within(self, count: int, claim: Term) -> Term:
        """What holds of a lane and the next one, where both are in the same group of so many."""
        last = equal(mod(self.place, Num(count)), Num(count - 1))
        return disjunction(last, negation(less(add(self.place, ONE), self.extent)), claim)

    def runs(self, count: int) -> Term:
        """Neighbours follow each other within each group of so many."""
        return self.within(count, equal(self.after, add(self.here, Num(self.unit))))


def _multiple(axis: _Axis, step: int) -> Ways:
    """All are multiples; or they run on, and the first of each group is one: the compiler takes it so."""
    every = equal(mod(axis.here, Num(step)), ZERO)
    count = max(step // axis.unit, 1)
    first = disjunction(negation(equal(mod(axis.place, Num(count)), ZERO)), every)
    return ((every,), (first, axis.runs(count)))


def _contiguous(axis: _Axis, step: int) -> Ways:
    return ((axis.runs(step),),)


def _constant(axis: _Axis, step: int) -> Ways:
    return ((axis.within(step, equal(axis.here, axis.after)),),)


def _hinted(ways: Callable[[_Axis, int], Ways], template: str) -> Callable[[Called], Value]:
    def hint(called: Called) -> Value:
        arguments = called.arguments(("input", "values"))
        value, steps = arguments.get("input", Other()), _numbers(arguments.get("values"))
        if not isinstance(value, Tile | Pointers) or steps is None:
            called.scope.claim(called.node, (), why(value) or "its values are data", ())
            return value
        for number, step in enumerate(steps if value.shape else steps[:1]):
            if step > 1:
                claims = ways(_axis(called, value, number, step), step)
                called.scope.claim(called.node, claims, template.format(step), value.shape)
        return value

    return hint


def _axis(called: Called, value: Tile | Pointers, number: int, step: int) -> _Axis:
    extent = value.shape[number] if number < len(value.shape) else ONE
    place: Term = ZERO if extent == ONE else lane(number)
    moved = {lane(number).name: add(place, ONE)}
    if isinstance(value, Tile):
        after = called.scope.term_at(value.term, moved)
        return _Axis(place, extent, value.term, after, 1)
    root, offset = value.pointer.root, value.pointer.offset
    buffer = called.scope.setting.buffers.get(root)
    align = buffer.align if buffer is not None else 1
    if align % step:
        base = Var(f"address of {root}")
        called.scope.model.unknowns[base.name] = f"{root} is promised at a multiple of {align} bytes"
        offset = add(offset, mul(base, Num(align)))
    return _Axis(place, extent, offset, called.scope.term_at(offset, moved), value.pointer.element.nbytes)


def _numbers(value: Value | None) -> list[int] | None:
    items = value.items if isinstance(value, Tuple) else (value,)
    numbers = [i.term.value for i in items if isinstance(i, Tile) and isinstance(i.term, Num)]
    return numbers if len(numbers) == len(items) else None


def _assume(called: Called) -> Value:
    condition = called.listed[0] if called.listed else Constant(True)
    tile = called.at.condition(called.node, condition)
    called.scope.claim(called.node, ((truth_of(tile.term),),), "the condition holds", tile.shape)
    return Other()


FUNCTIONS: dict[str, Callable[[Called], Value]] = {
    "multiple_of": _hinted(_multiple, "a multiple of {}"),
    "max_contiguous": _hinted(_contiguous, "contiguous by {}"),
    "max_constancy": _hinted(_constant, "the same by {}"),
    "assume": _assume,
}
