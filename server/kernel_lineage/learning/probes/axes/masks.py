"""Masks: NaN and infinities among the values, rows of which some or all are −inf, as attention masks leave them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace

from kernel_gate.dtypes import DTYPES
from kernel_gate.variations import Variation
from kernel_lineage.learning.probes.axis import Axis, Ground
from kernel_lineage.learning.probes.setting import Setting, facts_of
from kernel_lineage.learning.probes.value_facts import bounds_of_values, told_of_values

_POOLED = 40


def _free(setting: Setting) -> list[str]:
    """The float inputs of which nothing is promised."""
    return [
        a.name
        for a in setting.workload.args
        if a.kind in {"input", "inout"} and DTYPES[a.dtype].is_float and a.has_free_values
    ]


def _masked(setting: Setting, name: str) -> Setting:
    args = tuple(
        a.model_copy(update={"values": "masked"}) if a.name == name else a for a in setting.workload.args
    )
    return told_of_values(replace(setting, workload=setting.workload.model_copy(update={"args": args})))


def _special(setting: Setting) -> Setting:
    return told_of_values(replace(setting, inputs=Variation.NON_FINITE))


def _boundaries(ground: Ground) -> Iterator[Setting]:
    names = _free(ground.base)
    if names:
        yield told_of_values(ground.base)
    yield from _new(
        ground, [*([_special(ground.base)] if names else ()), *(_masked(ground.base, n) for n in names)]
    )


def _new(ground: Ground, settings: Iterable[Setting]) -> Iterator[Setting]:
    """Those that no known condition speaks of: of a bound on values, an infinity is only a very large one."""
    for setting in settings:
        if not ground.explains({**facts_of(setting), **dict(bounds_of_values(setting))}):
            yield setting


def _pool(ground: Ground, chance: random.Random) -> Iterator[Setting]:
    yield from _new(ground, _drawn(ground, chance))


def _drawn(ground: Ground, chance: random.Random) -> Iterator[Setting]:
    names = _free(ground.base)
    for _ in range(_POOLED if names else 0):
        setting = replace(chance.choice((ground.base, *ground.others)), seed=chance.randrange(1000))
        match chance.randrange(4):
            case 0:
                yield told_of_values(setting)
            case 1:
                yield _special(setting)
            case _:
                yield _masked(setting, chance.choice(names))


AXIS = Axis(
    title="Masks",
    moves="Inputs to NaN, infinities, and rows of which some or all values are −inf.",
    boundaries=_boundaries,
    pool=_pool,
)
