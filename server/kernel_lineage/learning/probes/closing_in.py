"""Closing in on a bound: cases between the last that is right and the first that fails."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kernel_lineage.learning.probes.asking import Answer, Saw
from kernel_lineage.learning.probes.axis import Axis, Ground
from kernel_lineage.learning.probes.inference import Explained
from kernel_lineage.learning.probes.predicates import LEAST_NORMAL, Atom, FactValues
from kernel_lineage.learning.probes.setting import Setting, facts_of

_CLOSE = 1.0005
"""How far apart the two may stay, as a ratio, where numbers are not whole."""
_CLOSE_TO_ZERO = 0.01
"""And where 0 lies between them, as a difference."""
_AROUND = 0.8
_DOUBTS = 6
OTHER_DATA = 7919
"""Added to a seed for a case like it."""
Sides = tuple[Sequence[FactValues], Sequence[FactValues]]


def closer(
    axis: Axis, ground: Ground, explained: Explained, sides: Sides, chance: random.Random
) -> Setting | None:
    """A case inside of the widest gap at a bound of the hypothesis; None when all are narrow, or none can be made."""
    if axis.between is None:
        return None
    for atom in explained.parts:
        others = [a for a in explained.parts if a is not atom]
        gap = _gap(atom, others, sides)
        if gap is None or atom.bound is None:
            continue
        for setting in axis.between(ground, atom.bound.name, *gap, chance):
            facts = facts_of(setting)
            if atom.bound.name in facts and gap[0] < atom.bound.of(facts) < gap[1] and ground.worth(setting):
                return setting
    return None


def again(explained: Explained, answers: Sequence[Answer]) -> Setting | None:
    """The outermost case that is right, with other data: a little beyond a bound on sizes it may be right by luck."""
    for atom in explained.parts:
        bound = atom.bound
        right = [a for a in answers if a.saw is Saw.AGREES and not atom.broken_by(a.facts)]
        if bound is None or bound.end is not None or not right:
            continue
        outermost = max(right, key=lambda a: bound.of(a.facts) if bound.upper else -bound.of(a.facts))
        asked = sum(a.facts == outermost.facts for a in answers)
        if asked <= _DOUBTS and not outermost.setting.told:
            return replace(outermost.setting, seed=outermost.setting.seed + OTHER_DATA * asked)
    return None


def around(axis: Axis, ground: Ground, explained: Explained, chance: random.Random) -> Iterator[Setting]:
    """Cases on both sides of each bound of the hypothesis, near it."""
    for bound in (atom.bound for atom in explained.parts):
        if bound is not None and axis.between is not None:
            low, high = sorted((bound.value * _AROUND, bound.value / _AROUND))
            yield from axis.between(ground, bound.name, low, high, chance)


def _gap(atom: Atom, others: Sequence[Atom], sides: Sides) -> tuple[float, float] | None:
    """The numbers between which the bound lies, the lower one first; None when they are as close as can be.

    Where something beyond the bound is right no number parts the two sides: a closer look would find more of it.
    """
    bound = atom.bound
    if bound is None:
        return None
    right = [bound.of(p) for p in sides[0] if bound.name in p and not atom.is_past(p)]
    wrong = [bound.of(p) for p in sides[1] if atom.broken_by(p) and not any(o.broken_by(p) for o in others)]
    if not right or not wrong:
        return None
    low, high = (max(right), min(wrong)) if bound.upper else (max(wrong), min(right))
    whole = bound.end is None or all(isinstance(end, int) for p in sides[0] for end in _ends(p, bound.name))
    if low >= high:
        return None
    around_zero = _CLOSE_TO_ZERO if low < LEAST_NORMAL and high > -LEAST_NORMAL else 0.0
    most = 1 if whole else max(around_zero, (_CLOSE - 1) * max(abs(low), abs(high)))
    return None if high - low <= most else (low, high)


def _ends(facts: FactValues, name: str) -> tuple[object, ...]:
    interval = facts.get(name, ())
    return interval if isinstance(interval, tuple) else ()


def middle(low: float, high: float) -> float:
    """Half-way: by ratio between numbers far apart, else by difference."""
    return (low * high) ** 0.5 if low > 0 and high > 4 * low else (low + high) / 2
