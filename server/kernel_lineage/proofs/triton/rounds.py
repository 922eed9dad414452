"""The variables of a loop in any of its rounds.

A round is read twice. In the first reading each variable stands for its start plus some advance; when the round adds a
number to it that no round changes, that is its stride. What the first reading notes is forgotten.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace

from kernel_gate.expr import terms
from kernel_gate.expr.polynomials import normal
from kernel_gate.expr.terms import ZERO, Num, Term, Var, variables
from kernel_lineage.code.integers import Site, computed
from kernel_lineage.code.values import Int, IntType, fresh
from kernel_lineage.proofs.triton.expressions import Expressions
from kernel_lineage.proofs.triton.scope import Scope, is_lane
from kernel_lineage.proofs.triton.values import BlockPointer, Other, Pointers, Tile, Value, shape_of

Run = Callable[[list[ast.stmt]], bool]
_ADVANCE = "advance of "


@dataclass(frozen=True, slots=True)
class Counter:
    """`for name in range(start, stop, step)`."""

    start: Term
    stop: Term
    step: Term
    type: IntType
    weak: bool

    def at(self, rounds: Term) -> Tile:
        """Its value in a round."""
        return Tile(Int(terms.add(self.start, terms.mul(rounds, self.step)), self.type), weak=self.weak)

    def goes_on(self, rounds: Term) -> Term:
        """Whether there is such a round."""
        value = self.at(rounds).term
        down = isinstance(self.step, Num) and self.step.value < 0
        return terms.less(self.stop, value) if down else terms.less(value, self.stop)

    @property
    def rounds(self) -> Term:
        """How many rounds there are."""
        down = isinstance(self.step, Num) and self.step.value < 0
        distance = terms.sub(self.start, self.stop) if down else terms.sub(self.stop, self.start)
        size = terms.sub(ZERO, self.step) if down else self.step
        return terms.maximum(ZERO, terms.ceil_div(distance, size))


@dataclass
class Loop:
    """The variables of a loop, in any round."""

    at: Expressions
    node: ast.For | ast.While
    before: dict[str, Value]
    changed: set[str]
    run: Run
    counted: tuple[str, Counter] | None = None

    def __post_init__(self) -> None:
        self.strides: dict[str, tuple[Term, ...]] = {}

    def find_strides(self, rounds: Var) -> None:
        """By how much each variable advances in a round, of those that always advance by the same."""
        scope = self.at.scope
        model = scope.model
        starts: dict[str, tuple[Term, ...]] = {}
        advances: dict[str, Var] = {}
        outside = set(model.instance) - {rounds.name}
        scope.variables = dict(self.before)
        for name in sorted(self.changed & set(self.before)):
            value = self.before[name]
            starts[name] = _terms(value)
            if starts[name]:
                advance = fresh(model, f"{_ADVANCE}{name}")
                advances[name] = advance
                moved = tuple(terms.add(t, Var(f"{advance.name}.{k}")) for k, t in enumerate(starts[name]))
                scope.variables[name] = _with(value, moved)
        if self.counted is not None:
            scope.variables[self.counted[0]] = self.counted[1].at(rounds)
        steps_before, cut, path, returned = len(model.arithmetic), model.cut, scope.path, list(scope.returned)
        with scope.unnoted():
            self.run(self.node.body)
        scope.forget_steps(steps_before)
        model.cut, scope.path, scope.returned = cut, path, returned
        for name, advance in advances.items():
            after = _terms(scope.variables.get(name, Other()))
            same_shape = shape_of(scope.variables[name]) == shape_of(self.before[name])
            if len(after) != len(starts[name]) or not same_shape:
                continue
            parts = [Var(f"{advance.name}.{k}") for k in range(len(after))]
            steps = tuple(
                normal(terms.sub(terms.sub(new, old), part))
                for new, old, part in zip(after, starts[name], parts, strict=True)
            )
            if all(self._is_fixed(step, outside) for step in steps):
                self.strides[name] = steps

    def _is_fixed(self, step: Term, outside: set[str]) -> bool:
        """Whether an amount is made of what the loop does not change."""
        model = self.at.scope.model
        return all(
            name in outside or is_lane(name) or (name not in model.instance and not name.startswith(_ADVANCE))
            for name in variables(step)
        )

    def enter(self, rounds: Term) -> None:
        """Set what the loop changes to its value at the start of a round."""
        scope = self.at.scope
        scope.variables = dict(self.before)
        if self.counted is not None:
            scope.variables[self.counted[0]] = self.counted[1].at(rounds)
        for name in sorted(self.changed & set(self.before)):
            value = self.before[name]
            if name not in self.strides:
                why = f"`{name}` is changed in the loop on line {self.node.lineno}"
                scope.variables[name] = lost(scope, name, value, why)
                continue
            moved = tuple(
                terms.add(term, terms.mul(rounds, stride))
                for term, stride in zip(_terms(value), self.strides[name], strict=True)
            )
            scope.variables[name] = _with(value, moved, Site(scope.model, self.node.lineno, name))


def _terms(value: Value) -> tuple[Term, ...]:
    """The numbers in a value that may advance."""
    match value:
        case Tile():
            return (value.term,)
        case Pointers(pointer=pointer):
            return (pointer.offset,)
        case BlockPointer(offsets=offsets):
            return tuple(offset.term for offset in offsets)
    return ()


def _with(value: Value, numbers: tuple[Term, ...], site: Site | None = None) -> Value:
    """The value with other numbers; with a site, integers are asked there whether they fit."""

    def integer(old: Int, term: Term) -> Int:
        if site is None or term == old.term:
            return replace(old, term=term)
        return computed(site, term, old.type, old.arithmetic)

    match value:
        case Tile():
            return Tile(integer(value.value, numbers[0]), value.shape)
        case Pointers(pointer=pointer):
            return replace(value, pointer=replace(pointer, offset=numbers[0]))
        case BlockPointer(offsets=offsets):
            moved = tuple(integer(old, new) for old, new in zip(offsets, numbers, strict=True))
            return replace(value, offsets=moved)
    return value


def lost(scope: Scope, name: str, value: Value, why: str) -> Value:
    """A value of which only the type and shape are known."""
    match value:
        case Tile():
            return scope.block(name, value.value.type, why, value.shape)
        case Other(shape=shape):
            return Other(value.reason, shape)
    return Other(why, shape_of(value))
