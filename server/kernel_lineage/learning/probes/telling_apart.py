"""Rival hypotheses: the probes that tell them apart, until one is left."""

from __future__ import annotations

import random
from collections.abc import Sequence

from kernel_lineage.learning.probes.asking import Asking
from kernel_lineage.learning.probes.axis import Axis, Ground
from kernel_lineage.learning.probes.closing_in import again, closer
from kernel_lineage.learning.probes.findings import AxisFindings, sides_of
from kernel_lineage.learning.probes.inference import Explained, explain
from kernel_lineage.learning.probes.predicates import FactValues
from kernel_lineage.learning.probes.setting import Setting, facts_of

_ROUNDS = 40
"""Probes that may be spent on telling hypotheses apart."""


def settled(
    axis: Axis,
    ground: Ground,
    asking: Asking,
    pool: Sequence[Setting],
    found: AxisFindings,
    chance: random.Random,
) -> Explained | None:
    """The hypothesis that is left when probes between it and its rivals, and at its bounds, have been run."""
    facts = [(s, facts_of(s)) for s in pool]
    for _ in range(_ROUNDS):
        explained = explain(*sides_of(found.answers, ground), ground.hints)
        if explained is None:
            return None
        telling = _most_telling(explained, [f for f in facts if not asking.known(f[0])])
        if telling is None:
            telling = closer(axis, ground, explained, sides_of(found.answers, ground), chance)
            telling = telling or again(explained, found.answers)
        if telling is None or asking.known(telling):
            return explained
        found.answers.append(asking.ask(telling))
    return explain(*sides_of(found.answers, ground), ground.hints)


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
