"""What a skill's card says already and what steps taught, as one list of conditions.

A validity condition of a step belongs to how that step was carried out: four-wide loads need `C % 4 == 0`, eight-wide
ones `C % 8 == 0`, and the width is the carrier's choice. So of learned conditions of which one implies the other the
weaker is the skill's. What the card says is what its assist relies on and stays as it is: a learned condition that is
the same confirms it and gives it its origin and evidence; one that implies it, or is implied, is told as a risk of that
carrier; any other is added.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kernel_lineage.skills.card import Condition, ConditionKind, NothingToSay, Origin, Risk
from kernel_lineage.skills.conditions.parse import parse
from kernel_lineage.skills.conditions.prove import implies
from kernel_lineage.skills.conditions.truth import Truth
from kernel_lineage.skills.conditions.unparse import written

_STRENGTH = (Origin.PROOF, Origin.PROBE, Origin.MEASUREMENT, Origin.LATER_FIX, Origin.GUARD, Origin.AUTHOR)
"""Origins from the strongest on: where a condition has several, the strongest is named."""


@dataclass(frozen=True, slots=True)
class Merged:
    """The conditions of a card, and what was learned that is told as a risk instead."""

    conditions: tuple[Condition, ...]
    risks: tuple[Risk, ...] = ()
    confirmed: tuple[str, ...] = ()
    """Conditions of the card that steps taught again."""


def merged(card: Sequence[Condition], learned: Iterable[Condition]) -> Merged:
    """The card's conditions with what steps taught, in the skill's names; the same input gives the same order."""
    taught = _weakest(_once(learned))
    kept: list[Condition] = []
    confirmed: list[str] = []
    risks: list[Risk] = []
    for own in card:
        same = next((t for t in taught if _key(t) == _key(own)), None)
        if same is None:
            kept.append(own)
        else:
            kept.append(_stronger(own, same))
            confirmed.append(own.expr)
    keys = {_key(own) for own in card}
    for one in taught:
        if _key(one) in keys:
            continue
        near = next((own for own in card if own.kind is one.kind and _comparable(one, own)), None)
        if near is None:
            kept.append(one)
        else:
            risks.append(
                Risk(
                    what=f"One way to carry it over needed {one.expr} (here: {near.expr})",
                    evidence=one.evidence or one.origin.value,
                )
            )
    return Merged(tuple(kept), tuple(risks), tuple(confirmed))


def silent(
    nothing_to_say: Sequence[NothingToSay], conditions: Sequence[Condition]
) -> tuple[NothingToSay, ...]:
    """The categories with nothing to say that still have nothing."""
    spoken = {c.category for c in conditions}
    return tuple(n for n in nothing_to_say if n.category not in spoken)


def _key(condition: Condition) -> tuple[ConditionKind, str]:
    return condition.kind, written(parse(condition.expr))


def _once(learned: Iterable[Condition]) -> list[Condition]:
    """Each condition once, the strongest origin first of those that say the same; sorted."""
    by_key: dict[tuple[ConditionKind, str], Condition] = {}
    for condition in sorted(learned, key=lambda c: (_key(c), _STRENGTH.index(c.origin), c.evidence or "")):
        by_key.setdefault(_key(condition), condition)
    return list(by_key.values())


def _weakest(taught: Sequence[Condition]) -> list[Condition]:
    """Without validity conditions that imply another one: those were the carrier's."""
    return [
        one
        for one in taught
        if one.kind is ConditionKind.PROFIT
        or not any(other is not one and other.kind is one.kind and _implies(one, other) for other in taught)
    ]


def _stronger(own: Condition, taught: Condition) -> Condition:
    """The card's own words, with the origin that weighs more and its evidence."""
    if _STRENGTH.index(taught.origin) >= _STRENGTH.index(own.origin):
        return own
    return own.model_copy(update={"origin": taught.origin, "evidence": taught.evidence})


def _comparable(one: Condition, other: Condition) -> bool:
    return _implies(one, other) or _implies(other, one)


def _implies(one: Condition, other: Condition) -> bool:
    return implies((parse(one.expr),), parse(other.expr)).truth is Truth.HOLDS
