"""The effect to expect of a skill here, by what was measured: on the same device and size, or how far off."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from kernel_lineage.skills.card import Evidence, SizeEffect, Skill
from kernel_lineage.skills.conditions.facts import Facts


class Match(StrEnum):
    """How near the measurement is to the situation at hand, best first."""

    EXACT = "exact"
    OTHER_SIZE = "other_size"
    OTHER_DEVICE = "other_device"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Expected:
    """A measured effect, baseline time over candidate time, and where it was measured."""

    speedup: float
    low: float
    high: float
    device: str
    kernel: str
    dims: Mapping[str, int]
    held_out: bool


def expected(skill: Skill, facts: Facts) -> tuple[Expected | None, Match]:
    """The nearest measurement of an accepted use: by device first, then by size. Failures give no expectation."""
    device = facts.get("device.name")
    names = {v for v in device.values if isinstance(v, str)} if device else set()
    measured = [(e, s) for e in skill.verified if e.outcome == "accepted" for s in e.sizes]
    if not measured:
        return None, Match.NONE

    def farness(pair: tuple[Evidence, SizeEffect]) -> tuple[bool, float, str]:
        evidence, size = pair
        return evidence.device not in names, _distance(size.dims, facts), f"{evidence.kernel} {evidence.date}"

    evidence, size = min(measured, key=farness)
    elsewhere, distance, _ = farness((evidence, size))
    match = Match.OTHER_DEVICE if elsewhere else Match.OTHER_SIZE if distance else Match.EXACT
    return (
        Expected(
            size.speedup, size.low, size.high, evidence.device, evidence.kernel, size.dims, evidence.held_out
        ),
        match,
    )


def _distance(dims: Mapping[str, int], facts: Facts) -> float:
    """The sum over a measured size's dimensions of |log(measured / here)|, infinite for one unknown here."""
    far = 0.0
    for name, measured in dims.items():
        here = facts.get(name)
        values = [v for v in here.values if isinstance(v, int | float) and v > 0] if here else []
        if not values or measured <= 0:
            return math.inf
        far += min(abs(math.log(measured / v)) for v in values)
    return far if dims else math.inf
