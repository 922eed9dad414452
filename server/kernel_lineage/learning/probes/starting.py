"""Where probing starts: a setting in which both states agree, named by the workload or looked for beside it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kernel_gate.shapes import named_shapes
from kernel_gate.variations import Variation
from kernel_lineage.learning.probes.asking import Asking, OutOfBudget, Saw
from kernel_lineage.learning.probes.axis import Axis, Ground
from kernel_lineage.learning.probes.hints import hints_of
from kernel_lineage.learning.probes.registry import axes
from kernel_lineage.learning.probes.setting import Setting, base_of
from kernel_lineage.learning.probes.value_facts import told_of_values
from kernel_lineage.learning.steps import Step

_ALONG = ("launch", "values", "sizes", "strides")
"""Axes along which a setting is looked for, when the later state fails on all that the workload names."""
_TRIED = 60
"""Settings that are tried along each of them."""
_LUCK = 3
"""Data that a setting which was looked for must agree with: few may agree by luck."""
_OTHER_DATA = 7919
_ORDINARY = 0.01
"""The least of the largest value of an input, and of its spread as a share of that."""


@dataclass(frozen=True, slots=True)
class Start:
    """A setting to start from, and what is known of the workload's own."""

    base: Setting
    axis: str = ""
    """Along which it lies away from what the workload names; "" when the workload names it."""
    failing: tuple[Setting, ...] = ()
    """What the workload names and the later state fails in."""


def starts(step: Step, asking: Asking, seed: int) -> tuple[Iterator[Start], str]:
    """Settings to start from, the likeliest first, and what to say of the workload's own; "" when all of it agrees.

    Where both states agree on some named shapes, the smallest is the only one; where they agree on none, there is one
    for each axis along which they do. Raises `OutOfBudget`.
    """
    named = [s for s in (base_of(step, dims, seed) for dims in named_shapes(step.workload)) if s.runs]
    if not named:
        return iter(()), "the workload names no shape that is small enough to probe"
    answers = [asking.ask(setting) for setting in named]
    agreeing = [a.setting for a in answers if a.saw is Saw.AGREES]
    failing = tuple(a.setting for a in answers if a.saw is Saw.FAILS)
    first = next((a for a in answers if a.saw is not Saw.AGREES), None)
    why = "" if first is None else f"the two states do not agree on the workload as it is: {first.reason}"
    if agreeing:
        base = next((s for s in agreeing if s.has_several), agreeing[0])
        return iter([Start(base, "sizes" if failing else "", failing)]), why
    if not failing:
        return iter(()), why
    return _elsewhere(step, failing, asking), why


def _elsewhere(step: Step, failing: Sequence[Setting], asking: Asking) -> Iterator[Start]:
    origin = next((s for s in failing if s.has_several), failing[0])
    ground = Ground(origin, hints=hints_of(step))
    for axis in (axes()[name] for name in _ALONG):
        settings = tuple(map(told_of_values, failing) if axis.id == "values" else failing)
        try:
            for base in _agreeing(axis, ground, asking):
                yield Start(replace(base, told=()), axis.id, settings)
        except OutOfBudget:
            return


def _agreeing(axis: Axis, ground: Ground, asking: Asking) -> Iterator[Setting]:
    """Settings along an axis in which both states agree whatever the data: the first, and of sizes the first for each
    dim that was moved, because one at which nothing is computed agrees as well. Those of several elements come first.

    Raises `OutOfBudget`.
    """
    lucky: list[Setting] = []
    moved: set[frozenset[str]] = set()
    tried = (
        (*_alike(ground.base), *axis.boundaries(ground)) if axis.id == "sizes" else axis.boundaries(ground)
    )
    for setting in itertools.islice((s for s in tried if s.runs), _TRIED):
        if (axis.id == "values" and not _is_ordinary(setting)) or not _always_agrees(setting, asking):
            continue
        if axis.id != "sizes":
            yield setting
            return
        dims = frozenset(n for n, extent in setting.dims.items() if extent != ground.base.dims[n])
        if not setting.has_several:
            lucky.append(setting)
        elif dims not in moved:
            moved.add(dims)
            yield setting
    yield from lucky[:1]


def _is_ordinary(setting: Setting) -> bool:
    """Whether no input is next to zero or next to constant: with such values, wrong states agree as well."""
    if setting.inputs in (Variation.ONE_HOT, Variation.CONSTANT):
        return False
    ranges = (value for name, value in told_of_values(setting).told if name.startswith("range("))
    for low, high in (bounds for bounds in ranges if isinstance(bounds, tuple)):
        top = max(abs(float(low)), abs(float(high)))
        if top < _ORDINARY or float(high) - float(low) < _ORDINARY * top:
            return False
    return True


def _alike(base: Setting) -> Iterator[Setting]:
    """Shapes that keep what relates dimensions, and what many of them keep at once: equal ones, and round ones."""
    for extent in (*dict.fromkeys(base.dims.values()), 64, 32, 16, 256):
        if len(base.dims) > 1 or extent not in base.dims.values():
            yield base.at(**dict.fromkeys(base.dims, extent))


def _always_agrees(setting: Setting, asking: Asking) -> bool:
    seeds = (setting.seed + n * _OTHER_DATA for n in range(_LUCK))
    return all(asking.ask(replace(setting, seed=seed)).saw is Saw.AGREES for seed in seeds)
