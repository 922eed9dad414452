"""How a kernel's mechanisms changed from one state to the next: what appeared, went, grew, shrank or moved.

Occurrences are matched by mechanism, array and parameters. An array that was only renamed has the same parameters as
before, and a number that changed belongs to the same array; what is left over came or went.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import prod

from kernel_lineage.kernels.mechanisms.model import Occurrence, Parameters
from kernel_lineage.kernels.mechanisms.registry import mechanisms

_NUMBER = re.compile(r"\d+")
_PLACES = frozenset({"bound"})
"""Parameters that say where something is, not how much of it: another value is a move."""
_SIZE = re.compile(r"\d+(?:×\d+)*|None")


class How(StrEnum):
    """What happened to an occurrence."""

    APPEARED = "appeared"
    WENT = "went"
    GREW = "grew"
    SHRANK = "shrank"
    CHANGED = "changed"
    MOVED = "moved"


@dataclass(frozen=True, slots=True)
class Change:
    """One occurrence before and after; None on the side where there is none."""

    how: How
    before: Occurrence | None
    after: Occurrence | None

    @property
    def mechanism(self) -> str:
        """The mechanism's id."""
        occurrence = self.after or self.before
        return occurrence.mechanism if occurrence is not None else ""


@dataclass
class _Side:
    """What is not matched yet of one state's occurrences of one mechanism, by array and parameters."""

    left: dict[tuple[str, Parameters], Occurrence]
    roots: frozenset[str] = field(default=frozenset())


def changes(before: Iterable[Occurrence], after: Iterable[Occurrence]) -> tuple[Change, ...]:
    """What changed, by mechanism. Only occurrences that are certain are compared, and not with a state that
    may have the mechanism.
    """
    before, after = list(before), list(after)
    old, new = _by_mechanism(before), _by_mechanism(after)
    unsure = {
        o.mechanism
        for side, others in ((before, old), (after, new))
        for o in side
        if o.mechanism not in others
    }
    differences: list[Change] = []
    for mechanism in sorted((old.keys() | new.keys()) - unsure):
        counted = mechanism in mechanisms() and mechanisms()[mechanism].counted
        differences += _matched(_side(old.get(mechanism, ())), _side(new.get(mechanism, ())), counted)
    return tuple(differences)


def added_and_removed(
    changed: Sequence[Change],
    before: Iterable[Occurrence],
    after: Iterable[Occurrence],
    parameters_added: Collection[str] = (),
    parameters_removed: Collection[str] = (),
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The ids of the mechanisms that a step brings or extends, and of those that it drops or reduces, sorted.

    An array that came as a new parameter brings no mechanism that the kernel had with the same parameters: it is
    handled as the others are. The same holds for one that went.
    """
    had, has = _spoken(before), _spoken(after)
    added = {
        c.mechanism
        for c in changed
        if c.how in (How.GREW, How.CHANGED) or _tells(c, How.APPEARED, c.after, had, parameters_added)
    }
    removed = {
        c.mechanism
        for c in changed
        if c.how is How.SHRANK or _tells(c, How.WENT, c.before, has, parameters_removed)
    }
    return tuple(sorted(added)), tuple(sorted(removed))


def _tells(
    change: Change,
    how: How,
    occurrence: Occurrence | None,
    other: Collection[tuple[str, Parameters]],
    new: Collection[str],
) -> bool:
    if change.how is not how or occurrence is None:
        return False
    return occurrence.root not in new or (occurrence.mechanism, occurrence.parameters) not in other


def _spoken(occurrences: Iterable[Occurrence]) -> set[tuple[str, Parameters]]:
    return {(o.mechanism, o.parameters) for o in occurrences if o.certain}


def _by_mechanism(occurrences: Iterable[Occurrence]) -> Mapping[str, list[Occurrence]]:
    by_mechanism: dict[str, list[Occurrence]] = {}
    for occurrence in occurrences:
        if occurrence.certain:
            by_mechanism.setdefault(occurrence.mechanism, []).append(occurrence)
    return by_mechanism


def _side(occurrences: Iterable[Occurrence]) -> _Side:
    left = {(o.root, o.parameters): o for o in occurrences}
    return _Side(left, frozenset(root for root, _ in left))


def _matched(old: _Side, new: _Side, counted: bool) -> Iterator[Change]:
    for key in sorted(old.left.keys() & new.left.keys()):
        before, after = old.left.pop(key), new.left.pop(key)
        if counted and before.count != after.count:
            yield Change(How.GREW if after.count > before.count else How.SHRANK, before, after)
    yield from _other_root(old, new)
    yield from _other_numbers(old, new)
    yield from (Change(How.WENT, o, None) for _, o in sorted(old.left.items()))
    yield from (Change(How.APPEARED, None, o) for _, o in sorted(new.left.items()))


def _other_root(old: _Side, new: _Side) -> Iterator[Change]:
    """The same on another array: nothing when the array is only called something else, a move when both are there."""
    for root, parameters in sorted(old.left):
        other = next((r for r, p in sorted(new.left) if p == parameters), None)
        if other is None:
            continue
        before, after = old.left.pop((root, parameters)), new.left.pop((other, parameters))
        if root in new.roots or other in old.roots:
            yield Change(How.MOVED, before, after)


def _other_numbers(old: _Side, new: _Side) -> Iterator[Change]:
    """The same on the same array with other values: more, less, or only different."""
    for root, parameters in sorted(old.left):
        ways = [(p, _direction(parameters, p)) for r, p in sorted(new.left) if r == root]
        other, how = next(((p, way) for p, way in ways if way is not None), (parameters, None))
        if how is not None:
            yield Change(how, old.left.pop((root, parameters)), new.left.pop((root, other)))


def _direction(one: Parameters, other: Parameters) -> How | None:
    """Which of two sets of parameters is more; None when they speak of different things.

    A parameter more is more. Numbers are compared by their product (`8×8` and `8×16`), lists by what they hold.
    """
    a, b = dict(one), dict(other)
    if a.keys() == b.keys() and a.keys() & _PLACES:
        return How.MOVED if all(a[name] == b[name] for name in a.keys() - _PLACES) else None
    orders = [_order(a[name], b[name]) for name in a.keys() & b.keys()]
    if None in orders or not (a.keys() <= b.keys() or b.keys() <= a.keys()):
        return None
    signs = {order for order in orders if order} | {len(b) - len(a)} - {0}
    if not signs:
        comparable = all(_says_which(a[name]) and _says_which(b[name]) for name in a.keys() & b.keys())
        return How.CHANGED if comparable else How.MOVED
    return How.GREW if min(signs) > 0 else How.SHRANK if max(signs) < 0 else How.CHANGED


def _says_which(value: str) -> bool:
    """Whether a value is known: `set` and `some` only say that there is one."""
    return not {"set", "some"} & set(value.split())


def _order(one: str, other: str) -> int | None:
    """Below, at or above 0 as the second value is less, the same or more; None for words that have no order."""
    if one == other:
        return 0
    if not (_says_which(one) and _says_which(other)):
        return 0
    left, right = one.split(), other.split()
    if all(_SIZE.fullmatch(v) for v in (*left, *right)):
        if len(left) == len(right) == 1:
            a, b = (prod(map(int, _NUMBER.findall(v))) for v in (one, other))
            return b - a
        return len(set(right) - set(left)) - len(set(left) - set(right))
    return None
