"""Held-out cases: fresh ones on both sides of what was learned, and whether the gate agrees with it there."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace

from kernel_lineage.learning.probes.asking import Asking, Saw
from kernel_lineage.learning.probes.axis import Axis, Ground
from kernel_lineage.learning.probes.closing_in import OTHER_DATA, around
from kernel_lineage.learning.probes.findings import AxisFindings, Finding, smallest
from kernel_lineage.learning.probes.inference import Explained
from kernel_lineage.learning.probes.predicates import Atom
from kernel_lineage.learning.probes.report import Confirmation
from kernel_lineage.learning.probes.setting import Setting, facts_of
from kernel_lineage.learning.probes.shrinking import shrunk

_HELD_OUT = 10
"""Cases on each side of a condition."""
_LEAST_HELD_OUT = 2
_POOLS = 6
"""Held-out cases are taken from so many pools: those that keep all conditions but one may be rare."""
_DOUBTS = 4
"""Data that a case which breaks a condition, and is right, is asked with."""
ENOUGH = 0.95
"""The share of held-out cases that a condition must be right in."""


class Sides:
    """Held-out cases on both sides of a condition: at most so many on each, and in how many the condition is right."""

    def __init__(self) -> None:
        self._seen = {True: 0, False: 0}
        self._agree = {True: 0, False: 0}

    def wants(self, keeps: bool) -> bool:
        """Whether another one that keeps the condition, or breaks it, says anything new."""
        return self._seen[keeps] < _HELD_OUT

    def add(self, keeps: bool, right: bool) -> None:
        """One more, and whether the later state is right there."""
        self._seen[keeps] += 1
        self._agree[keeps] += right is keeps

    @property
    def confirmation(self) -> Confirmation:
        """What they say of the condition."""
        return Confirmation(
            kept=self._seen[True],
            kept_agree=self._agree[True],
            broken=self._seen[False],
            broken_agree=self._agree[False],
        )


def held_out(
    axis: Axis, ground: Ground, explained: Explained, chance: random.Random, more: int
) -> list[Setting]:
    """Cases that nothing was learned from, `more` added to their seeds; near bounds of sizes every other one."""
    pools = itertools.chain(*(axis.pool(ground, chance) for _ in range(_POOLS)))
    near = around(axis, ground, explained, chance)
    turns = (s for pair in itertools.zip_longest(near, pools) for s in pair if s is not None)
    drawn = turns if all(part.exact for part in explained.parts) else itertools.chain(pools, near)
    return [_with_other_data(s, more) for s in drawn if ground.worth(s)]


def _with_other_data(setting: Setting, more: int) -> Setting:
    """A case with data of its own; one that was drawn for its data has them, and its facts are of these."""
    return setting if setting.told else replace(setting, seed=setting.seed + more)


def confirmed(
    atom: Atom,
    explained: Explained,
    asking: Asking,
    held: Sequence[Setting],
    log: AxisFindings,
    base: Setting,
    *,
    last: bool,
) -> Finding:
    """An atom with its counterexample, after held-out cases on both sides of it, all other atoms kept.

    What is exact ends with the first case that contradicts it, as long as it can be learned anew.
    """
    others = [a for a in explained.parts if a is not atom]
    sides = Sides()
    contradicted = False
    for setting in held:
        facts = facts_of(setting)
        try:
            side = atom.test(facts)
            if atom.is_past(facts) or not all(a.test(facts) for a in others):
                continue
        except KeyError:
            continue
        if not sides.wants(side) or asking.has_asked(setting):
            continue
        answer = asking.ask(setting)
        log.answers.append(answer)
        if answer.saw is Saw.SILENT:
            continue
        right = answer.saw is Saw.AGREES
        sides.add(side, right)
        if right is not side and not (not side and _is_luck(setting, asking, log)):
            contradicted = True
            if atom.exact and not last:
                break
    confirmation = sides.confirmation
    broken = [
        a
        for a in log.answers
        if a.saw is Saw.FAILS and atom.broken_by(a.facts) and not any(o.broken_by(a.facts) for o in others)
    ]
    example = smallest(broken) or smallest(a for a in log.answers if a.saw is Saw.FAILS)
    if example is None:
        raise AssertionError("a hypothesis is made of failures")
    smaller = shrunk(example, atom, others, asking, base)
    return Finding(atom, smaller, confirmation, why_dropped(confirmation), contradicted)


def _is_luck(setting: Setting, asking: Asking, log: AxisFindings) -> bool:
    """Whether a case that breaks what was learned, and is right, fails with other data: then it tells nothing against.

    It is counted as it came out all the same: what fails with few data only is no condition. A case that was drawn for
    its data has no others.
    """
    for more in range(1, 1 if setting.told else _DOUBTS):
        answer = asking.ask(replace(setting, seed=setting.seed + more * OTHER_DATA))
        log.answers.append(answer)
        if answer.saw is not Saw.AGREES:
            return answer.saw is Saw.FAILS
    return False


def why_dropped(confirmation: Confirmation) -> str:
    """Why a condition is not kept; "" for one that is."""
    few = min(confirmation.kept, confirmation.broken)
    if few < _LEAST_HELD_OUT:
        return f"only {few} held-out cases on one side of it could be run"
    if confirmation.share < ENOUGH:
        cases = confirmation.kept + confirmation.broken
        return f"the gate agrees in {confirmation.share:.0%} of {cases} held-out cases"
    return ""
