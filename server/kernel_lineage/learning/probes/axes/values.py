"""Values: each input at ranges, signs and patterns where numerics change character; integers at their bounds."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace

from kernel_gate.arguments import Argument
from kernel_gate.dtypes import DTYPES
from kernel_gate.variations import Variation
from kernel_lineage.learning.probes.axis import Axis, Ground
from kernel_lineage.learning.probes.closing_in import middle
from kernel_lineage.learning.probes.setting import Setting
from kernel_lineage.learning.probes.value_facts import told_of_values
from kernel_lineage.skills.conditions.names import split_fact

_FLOAT_KINDS = (
    "peaked(3)", "peaked(8)", "peaked(20)", "peaked(60)", "uniform(20, 60)", "uniform(80, 120)", "uniform(-120, -80)",
    "uniform(-1, 0)", "uniform(0, 0)", "uniform(1, 1)", "uniform(1e-6, 1e-5)", "uniform(1e-40, 1e-39)",
    "boundary",
)  # fmt: skip
_FINITE = (
    Variation.SMALL, Variation.LARGE, Variation.HEAVY_TAILED, Variation.ONE_HOT, Variation.CONSTANT,
    Variation.CANCELLING, Variation.BOUNDARY,
)  # fmt: skip
_PARTS = (8, 64, 1024)
"""Parts of a range of integers at either end and around 0: what is right for few of them may be for these."""
_POOLED = 50
_FLAT = 0.02
"""How far the values of a flat row lie apart, as a share of the largest."""
_TRIES = 40
"""At a case between two numbers: what is drawn ends where it likes."""


def _varied(setting: Setting) -> Iterator[Setting]:
    """The gate's own variations of values that are free."""
    if any(a.has_free_values and a.kind in {"input", "inout"} for a in setting.workload.args):
        for variation in Variation:
            if variation in _FINITE:
                yield replace(setting, inputs=variation)


def _drawn(setting: Setting, argument: Argument, values: str) -> Setting:
    args = tuple(
        a.model_copy(update={"values": values}) if a.name == argument.name else a
        for a in setting.workload.args
    )
    return replace(setting, workload=setting.workload.model_copy(update={"args": args}))


def _arguments(ground: Ground) -> list[Argument]:
    """As the workload declares them: the base may have values that were looked for."""
    return [ground.declared(a) for a in ground.base.workload.args]


def _kinds(argument: Argument) -> tuple[str, ...]:
    kind, bounds = argument.values_spec
    if argument.kind not in {"input", "inout"} or kind == "file":
        return ()
    if DTYPES[argument.dtype].is_float:
        return _FLOAT_KINDS if kind == "normal" else ()
    if kind == "integers" and len(bounds) == 2:
        low, high = bounds
        middle = f"({low} + {high}) // 2"
        return (
            f"integers({low}, {low} + 1)", f"integers({high} - 1, {high})",
            f"integers({low}, {middle} + 1)", f"integers({middle}, {high})",
            *(f"integers({low}, {low} + ({high} - {low}) // {part} + 1)" for part in _PARTS),
            *(f"integers({high} - ({high} - {low}) // {part} - 1, {high})" for part in _PARTS),
            *(f"integers(max({low}, -({high} - {low}) // {part}), min({high}, ({high} - {low}) // {part} + 1))"
              for part in _PARTS),
            f"integers(min(max({low}, 0), {high} - 1), {high})", f"integers({low}, max(min({high}, 1), {low} + 1))",
        )  # fmt: skip
    return ()


def _boundaries(ground: Ground) -> Iterator[Setting]:
    yield told_of_values(ground.base)
    for argument in _arguments(ground):
        for values in _kinds(argument):
            yield told_of_values(_drawn(ground.base, argument, values))
    for setting in _varied(ground.base):
        yield told_of_values(setting)


def _pool(ground: Ground, chance: random.Random) -> Iterator[Setting]:
    arguments = [a for a in _arguments(ground) if _kinds(a)]
    for _ in range(_POOLED if arguments else 0):
        setting = replace(chance.choice((ground.base, *ground.others)), seed=chance.randrange(1000))
        argument = chance.choice(arguments)
        match chance.randrange(5):
            case 0:
                yield told_of_values(setting)
            case 1:
                yield told_of_values(chance.choice([setting, *_varied(setting)]))
            case 2:
                yield told_of_values(_drawn(setting, argument, _any(argument, chance)))
            case _:
                yield told_of_values(_drawn(setting, argument, chance.choice(_kinds(argument))))


def _any(argument: Argument, chance: random.Random) -> str:
    """A range or a height of any order of magnitude, of either sign, so that thresholds are closed in on."""
    if argument.values_spec[0] != "normal":
        return chance.choice(_kinds(argument))
    top = float(f"{10 ** chance.uniform(-1, 3):.2g}")
    return chance.choice(
        (f"peaked({top:g})", f"uniform({-top:g}, {top:g})", f"uniform(0, {top:g})", f"uniform({-top:g}, 0)")
    )


def _between(ground: Ground, name: str, low: float, high: float, chance: random.Random) -> Iterator[Setting]:
    """Inputs whose range, spread, lead or log-sum-exp ends about half-way; rows that are flat there have the last far
    from the first.
    """
    top = middle(low, high)
    argument = next((a for a in _arguments(ground) if a.name == split_fact(name)[1][0]), None)
    if argument is None or not _kinds(argument):
        return
    if not DTYPES[argument.dtype].is_float:
        yield from _indices_between(ground.base, argument, low, high, chance)
        return
    for end in (top, *(chance.uniform(low, high) for _ in range(_TRIES))):
        for values in (
            f"peaked({end:.5g})",
            f"uniform({-abs(end):.5g}, {abs(end):.5g})",
            f"uniform(0, {end:.5g})",
            f"uniform({end - abs(end) * _FLAT:.5g}, {end:.5g})",
        ):
            setting = replace(ground.base, seed=chance.randrange(1000))
            yield told_of_values(_drawn(setting, argument, values))


def _indices_between(
    base: Setting, argument: Argument, low: float, high: float, chance: random.Random
) -> Iterator[Setting]:
    """Indices of which the lowest or the highest lies between two numbers."""
    own = base.workload.argument(argument.name) or argument
    # As the base has them, so that the other end stays where both states agree; and as they are declared.
    ranges = dict.fromkeys(a.values_spec[1] for a in (own, argument) if a.values_spec[0] == "integers")
    ends = (round(middle(low, high)), *(round(chance.uniform(low, high)) for _ in range(_TRIES)))
    for end, (first, last) in itertools.product(ends, ranges):
        for values in (f"integers({first}, {end} + 1)", f"integers({end}, {last})"):
            yield told_of_values(_drawn(replace(base, seed=chance.randrange(1000)), argument, values))


AXIS = Axis(
    title="Values",
    moves="Inputs to large, tiny, equal, zero, negative, and peaked values; integers to their bounds.",
    boundaries=_boundaries,
    pool=_pool,
    between=_between,
)
