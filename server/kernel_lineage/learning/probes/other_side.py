"""The other side of a condition, close to it: whether what breaks it fails there, or is often right all the same.

A condition that parts what was drawn may still be stricter than it has to be, and where it just fails to hold that
shows. Nothing is learned from these cases: where the grammar says it no better, the condition is called sufficient.
"""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from kernel_lineage.learning.probes.asking import Answer, Asking, OutOfBudget, Saw
from kernel_lineage.learning.probes.axis import Axis, Ground
from kernel_lineage.learning.probes.closing_in import OTHER_DATA, around
from kernel_lineage.learning.probes.inference import Explained
from kernel_lineage.learning.probes.predicates import Atom, FactValues
from kernel_lineage.learning.probes.setting import Setting, facts_of
from kernel_lineage.skills.conditions.facts import Scalar
from kernel_lineage.skills.conditions.parse import parse
from kernel_lineage.skills.conditions.tree import facts_in

_NEAR = 10
"""Cases that are asked."""
_POOLS = 4
_SMALL = 8
_STEPS = (1, -1, 2, -2)
_DOUBTS = 4
"""Data that a case which is right is asked with, as long as it is."""


def close_by(
    axis: Axis, ground: Ground, atom: Atom, answers: Sequence[Answer], asking: Asking, chance: random.Random
) -> tuple[int, int]:
    """How many cases were tried that break this condition of `ground.known` alone, nearest first, and failed.

    Fewer are tried when the budget ends.
    """
    others = tuple(a for a in ground.known if a is not atom)
    ground = replace(ground, known=others, others=(*ground.others, *_small(answers, ground.base)))
    names = tuple(dict.fromkeys(ref.name for ref in facts_in(parse(atom.expr))))
    kept = {tuple(a.facts[n] for n in names) for a in answers if _has(names, a.facts) and atom.test(a.facts)}
    pools = itertools.chain(*(axis.pool(ground, chance) for _ in range(_POOLS)))
    near = around(axis, ground, Explained((atom,), ()), chance)
    beside = _beside([a.setting for a in answers if not a.setting.told], atom, names, chance)
    drawn = [
        (_away(atom, setting, names, kept), [facts[n] for n in names], setting)
        for setting in itertools.chain(pools, near, beside)
        if _has(names, facts := facts_of(setting)) and atom.broken_by(facts) and ground.worth(setting)
    ]
    tried = wrong = 0
    try:
        for setting in _in_turns(drawn):
            if tried == _NEAR:
                break
            saw = Saw.SILENT if asking.has_asked(setting) else _seen(setting, asking)
            tried += saw is not Saw.SILENT
            wrong += saw is Saw.FAILS
    except OutOfBudget:
        pass  # so many were tried, and that is what is said
    return tried, wrong


def _small(answers: Sequence[Answer], base: Setting) -> list[Setting]:
    """The smallest shapes that are right as the workload runs them: there what fails elsewhere may be right as well."""
    plain = (a.setting for a in answers if a.saw is Saw.AGREES and a.setting == base.at(**a.setting.dims))
    return sorted(plain, key=lambda setting: setting.size)[:_SMALL]


def _seen(setting: Setting, asking: Asking) -> Saw:
    """What a case shows; one that is right has other data, where it was not drawn for its own, in which it may fail."""
    saw = asking.ask(setting).saw
    for more in range(1, 1 if setting.told else _DOUBTS):
        if saw is not Saw.AGREES:
            break
        saw = asking.ask(replace(setting, seed=setting.seed + more * OTHER_DATA)).saw
    return saw


def _in_turns(drawn: Sequence[tuple[float, Sequence[Scalar], Setting]]) -> list[Setting]:
    """The nearest first; what has the facts of another one after all others, so that no facts stand for the rest."""
    turn: Counter[str] = Counter()
    ranked = []
    for away, facts, setting in sorted(drawn, key=lambda d: d[0]):
        ranked.append((turn[repr(facts)], away, setting))
        turn[repr(facts)] += 1
    return [setting for *_, setting in sorted(ranked, key=lambda r: r[:2])]


def _beside(
    settings: Iterable[Setting], atom: Atom, names: Sequence[str], chance: random.Random
) -> Iterator[Setting]:
    """What was tried, with one dimension at an extent that the condition may turn at."""
    for setting in settings:
        for name in (n for n in names if n in setting.dims):
            for extent in _turning(atom, setting, name):
                yield replace(setting.at(**{name: extent}), seed=chance.randrange(1000))


def _turning(atom: Atom, setting: Setting, name: str) -> list[int]:
    """Extents of a dimension a step from its own, or from a number that the condition names."""
    extent = setting.dims[name]
    numbers = {int(n) for n in re.findall(r"\b\d+\b", atom.expr)}
    turns = {at + step for at in (extent, *numbers) for step in (*_STEPS, 0)} - {extent}
    return sorted(turn for turn in turns if turn >= setting.at_least(name))


def _has(names: Sequence[str], facts: FactValues) -> bool:
    return all(name in facts for name in names)


def _away(atom: Atom, setting: Setting, names: Sequence[str], kept: set[tuple[Scalar, ...]]) -> float:
    """From the bound, where there is one; else the least that one size has to change by for the condition to hold;
    else the smallest sum of differences to facts that keep it.
    """
    facts = facts_of(setting)
    if atom.bound is not None:
        return abs(atom.bound.of(facts) - atom.bound.value)
    steps = [
        abs(extent - setting.dims[name])
        for name in names
        if name in setting.dims
        for extent in _turning(atom, setting, name)
        if atom.test({**facts, name: extent})
    ]
    here = [facts[name] for name in names]
    return float(min(steps, default=min((sum(map(_apart, here, other)) for other in kept), default=0.0)))


def _apart(one: Scalar, other: Scalar) -> float:
    """The difference of numbers and of intervals; of anything else whether there is one."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return sum(abs(float(a) - float(b)) for a, b in zip(one, other, strict=True))
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(float(one) - float(other))
    return float(one != other)
