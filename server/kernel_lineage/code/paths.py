"""The paths through a function that is read symbolically, in any language: what holds at a point, and branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from kernel_gate.expr import terms
from kernel_gate.expr.terms import FALSE, TRUE, Term
from kernel_lineage.code.model import Model
from kernel_lineage.code.setting import Setting

_V = TypeVar("_V")


@dataclass
class Path(Generic[_V]):
    """The variables and the conditions at one point. Mutable while a function is read; branches save and restore it."""

    setting: Setting
    model: Model
    variables: dict[str, _V] = field(default_factory=dict, kw_only=True)
    path: tuple[Term, ...] = field(default=(), kw_only=True)
    """The conditions under which the point is come to."""
    depth: int = field(default=0, kw_only=True)
    """How deep calls are inlined."""
    returned: list[tuple[tuple[Term, ...], _V]] = field(default_factory=list, kw_only=True)
    busy: set[str] = field(default_factory=set, kw_only=True)
    """Macros and constants that are being read."""

    @contextmanager
    def under(self, *conditions: Term) -> Iterator[None]:
        """What is read meanwhile happens only under these conditions."""
        before = self.path
        self.path = (*before, *(c for c in conditions if c != TRUE))
        try:
            yield
        finally:
            self.path = before

    @contextmanager
    def unnoted(self) -> Iterator[None]:
        """What is read meanwhile is evaluated for what it says, not for what it reads again."""
        model = self.model
        notes: tuple[list[Any], ...] = (model.accesses, model.problems, model.claims, model.events)
        kept = [len(one) for one in notes]
        yield
        for one, count in zip(notes, kept, strict=True):
            del one[count:]

    def branch(
        self,
        condition: Term,
        yes: Callable[[], bool],
        no: Callable[[], bool],
        merged: Callable[[Mapping[str, _V], Mapping[str, _V]], dict[str, _V]],
    ) -> bool:
        """Read both sides of a branch; each says whether a path goes on behind it, and so does the answer.

        `merged` makes the variables behind both sides of those behind each.
        """
        before, path = dict(self.variables), self.path
        ends = [
            (self._read_side(read, before, path, test), self.variables, self.path)
            for read, test in ((yes, condition), (no, terms.negation(condition)))
        ]
        going_on = [(variables, end) for alive, variables, end in ends if alive]
        if len(going_on) < 2:
            self.variables, self.path = going_on[0] if going_on else ends[1][1:]
            return bool(going_on)
        self.path = path
        added = [end[len(path) :] for _, end in going_on]
        if any(len(one) > 1 for one in added):
            self.path = (*path, terms.disjunction(*(terms.conjunction(*one) for one in added)))
        self.variables = merged(going_on[0][0], going_on[1][0])
        return True

    def _read_side(
        self, read: Callable[[], bool], before: Mapping[str, _V], path: tuple[Term, ...], condition: Term
    ) -> bool:
        self.variables, self.path = dict(before), path
        if condition == FALSE or terms.negation(condition) in path:
            return False
        self.path = path if condition == TRUE else (*path, condition)
        return read()
