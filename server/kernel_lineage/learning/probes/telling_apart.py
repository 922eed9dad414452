"""Rival hypotheses: the probes that tell them apart, until one is left."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from kernel_lineage.learning.probes.asking import Asking
from kernel_lineage.learning.probes.axis import Axis, Ground
from kernel_lineage.learning.probes.closing_in import OTHER_DATA, Sides, again, around, closer
from kernel_lineage.learning.probes.findings import AxisFindings, sides_of
from kernel_lineage.learning.probes.inference import Explained, explain, in_doubt
from kernel_lineage.learning.probes.predicates import FactValues
from kernel_lineage.learning.probes.setting import Setting, facts_of

_DOUBTS = 8
"""Data that a case is asked with which alone stands against something plainer."""
_ROUNDS = 60
"""Probes that may be spent on telling hypotheses apart."""


def settled(
    axis: Axis,
    ground: Ground,
    asking: Asking,
    pool: Sequence[Setting],
    log: AxisFindings,
    chance: random.Random,
) -> Explained | None:
    """The hypothesis that is left when probes between it and its rivals, and at its bounds, have been run."""
    facts = [(s, facts_of(s)) for s in pool]
    for _ in range(_ROUNDS):
        sides = sides_of(log.answers, ground)
        explained = explain(*sides, ground.hints)
        if explained is None:
            return None
        fresh = [f for f in facts if not asking.has_asked(f[0])]
        telling = (
            _most_telling(explained, fresh)
            or _fresh(closer(axis, ground, explained, sides, chance), asking)
            or _most_telling(explained, _at_bounds_on_values(axis, ground, explained, asking, chance))
            or _fresh(again(explained, log.answers), asking)
            or _fresh(_doubted(explained, sides, ground, log), asking)
        )
        if telling is None:
            return explained
        log.answers.append(asking.ask(telling))
    return explain(*sides_of(log.answers, ground), ground.hints)


def _fresh(setting: Setting | None, asking: Asking) -> Setting | None:
    return None if setting is None or asking.has_asked(setting) else setting


def _at_bounds_on_values(
    axis: Axis, ground: Ground, explained: Explained, asking: Asking, chance: random.Random
) -> list[tuple[Setting, FactValues]]:
    """Cases near bounds on values: what is drawn at large seldom ends where one such bound is told from another."""
    if all(part.exact for part in explained.parts):
        return []
    near = (s for s in around(axis, ground, explained, chance) if ground.worth(s) and not asking.has_asked(s))
    return [(setting, facts_of(setting)) for setting in near]


def _doubted(explained: Explained, sides: Sides, ground: Ground, log: AxisFindings) -> Setting | None:
    """A case that may be right by luck, with other data; where it has been asked often enough it is right."""
    for facts in in_doubt(*sides, ground.hints, explained):
        asked = [a.setting for a in log.answers if a.facts == facts]
        if len(asked) <= _DOUBTS and not asked[0].told:
            return replace(asked[0], seed=asked[0].seed + OTHER_DATA * len(asked))
    return None


def _most_telling(explained: Explained, fresh: Sequence[tuple[Setting, FactValues]]) -> Setting | None:
    """The smallest setting of those that split the rivals most evenly from the hypothesis; None: none does."""
    best: tuple[int, int, int] | None = None
    chosen: Setting | None = None
    for position, (setting, facts) in enumerate(fresh):
        try:
            held = explained.holds(facts)
            against = sum(all(a.test(facts) for a in rival) is not held for rival in explained.rivals)
        except KeyError:  # a row of one value has no lead, and nothing that speaks of leads speaks of it
            continue
        if against:
            rank = (-min(against, len(explained.rivals) - against + 1), setting.size, position)
            if best is None or rank < best:
                best, chosen = rank, setting
    return chosen
