"""Fresh cases on both sides of a learned condition, those nearest to its boundary first."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from kernel_gate.shapes import named_shapes
from kernel_gate.workload import Workload
from kernel_lineage.learning.probes.axis import Ground
from kernel_lineage.learning.probes.hints import hints_of
from kernel_lineage.learning.probes.predicates import LEAST_NORMAL
from kernel_lineage.learning.probes.registry import axes
from kernel_lineage.learning.probes.setting import Setting, base_of, facts_of
from kernel_lineage.learning.probes.value_facts import told_of_values
from kernel_lineage.learning.steps import Step
from kernel_lineage.skills.conditions.evaluate import judge
from kernel_lineage.skills.conditions.facts import Fact, Facts, FactSource, Scalar
from kernel_lineage.skills.conditions.names import split_fact
from kernel_lineage.skills.conditions.parse import parse
from kernel_lineage.skills.conditions.tree import facts_in
from kernel_lineage.skills.conditions.truth import Truth

_OF_HEAD = {
    "align": "alignment", "noalias": "aliasing", "exclusive": "aliasing", "dtype": "dtypes", "stride": "strides",
    "contiguous": "strides", "finite": "masks", "row_has_finite": "masks", "range": "values", "row_spread": "values",
    "row_lead": "values", "row_lead_at": "values", "row_log_sum_exp": "values", "device": "architecture",
    "launch": "launch",
}  # fmt: skip
_FIRST_SEED, _LAST_SEED = 10_000, 10_000_000
"""Far from what probing draws with, so that no case has the data of one that was learned from."""
_OF_DATA = ("values", "masks")
"""Kinds whose facts are those of the drawn data."""
_DRAWN = 600
_SHAPES = 16


@dataclass(frozen=True, slots=True)
class Case:
    """A setting, and how far its facts are from the nearest that is on the other side."""

    setting: Setting
    facts: tuple[Scalar, ...]
    """The values of the condition's names."""
    distance: float = 0.0


def kind_of(expr: str, workload: Workload) -> str:
    """Which facts a condition speaks of: the id of the axis that moves them."""
    kinds = {_kind_of_name(ref.name, workload) for ref in facts_in(parse(expr))}
    return next((kind for kind in sorted(kinds) if kind != "sizes"), "sizes")


def _kind_of_name(name: str, workload: Workload) -> str:
    head = split_fact(name)[0].split(".")[0]
    plain = head in workload.dims or workload.argument(head) is not None
    return _OF_HEAD.get(head, "sizes" if plain else "launch")


def truth(expr: str, facts: Mapping[str, Scalar]) -> bool | None:
    """Whether a condition holds; None when a fact is missing."""
    fact_table = {name: Fact((value,), name, FactSource.WORKLOAD) for name, value in facts.items()}
    verdict = judge(expr, Facts(fact_table)).truth
    return None if verdict is Truth.UNKNOWN else verdict is Truth.HOLDS


def sides(expr: str, others: Sequence[str], step: Step, seed: int) -> tuple[list[Case], list[Case]]:
    """Cases that hold and that break one condition while the step's other conditions hold, nearest first.

    Subnormal values are on neither side: no tolerance tells them from 0.
    """
    chance = random.Random(f"{seed} {step.transition} {expr}")
    ground = _ground(step, (expr, *others), chance)
    if ground is None:
        return [], []
    usual = _usual(ground.base)
    names = list(dict.fromkeys(ref.name for ref in facts_in(parse(expr))))
    cases: dict[bool, list[Case]] = {True: [], False: []}
    for setting in islice(_fresh(expr, ground, chance), _DRAWN):
        facts = facts_of(setting)
        side = truth(expr, facts)
        if side is None or not setting.runs or any(truth(o, {**usual, **facts}) is False for o in others):
            continue
        case = Case(setting, tuple(facts[name] for name in names))
        if not any(0 < abs(end) < LEAST_NORMAL for end in _numbers(case.facts, case.facts)):
            cases[side].append(case)
    kept, broken = (_nearest(cases[side], cases[not side], chance) for side in (True, False))
    return kept, broken


def _ground(step: Step, conditions: Sequence[str], chance: random.Random) -> Ground | None:
    """The first named shape, and fresh ones on which every condition holds as far as sizes decide it."""
    base = next(
        (s for s in (base_of(step, d, _FIRST_SEED) for d in named_shapes(step.workload)) if s.runs), None
    )
    if base is None:
        return None
    ground, usual = Ground(base, hints=hints_of(step)), _usual(base)
    small = (s for s in axes()["sizes"].pool(ground, chance) if s.runs and s.size <= 4 * base.size)
    shapes = [s for s in small if all(truth(c, {**usual, **facts_of(s)}) is not False for c in conditions)]
    return replace(ground, others=tuple(shapes[:_SHAPES]))


def _usual(base: Setting) -> dict[str, Scalar]:
    """Facts of the step as its workload runs it, for those that a moved setting does not tell."""
    return dict(facts_of(told_of_values(base)))


def _fresh(expr: str, ground: Ground, chance: random.Random) -> Iterator[Setting]:
    """Settings of the condition's kind without end, and beside each those whose facts are a little different."""
    kind = kind_of(expr, ground.base.workload)
    while True:
        drawn = list(axes()[kind].pool(ground, chance))
        if not drawn:
            return
        for setting in drawn:
            for near in (setting, *_beside(expr, setting, kind, chance)):
                fresh = replace(near, seed=chance.randrange(_FIRST_SEED, _LAST_SEED))
                yield told_of_values(fresh) if kind in _OF_DATA else fresh


_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_SHARES = (0.5, 0.8, 0.9, 0.95, 0.98, 1.02, 1.05, 1.1, 1.25, 2.0)


def _beside(expr: str, setting: Setting, kind: str, chance: random.Random) -> Iterator[Setting]:
    dims = [n for n in setting.dims if re.search(rf"\b{n}\b", expr)]
    if kind == "values":
        yield from _bounded(expr, setting, chance)
        return
    targets = [int(n) for n in _NUMBER.findall(expr) if n.isdigit()]
    targets += [v for v in facts_of(setting).values() if type(v) is int and kind == "launch"]
    for name in dims:
        steps = [setting.dims[name] + d for d in (-2, -1, 1, 2)]
        close = [t + d for t in targets for d in (-1, 0, 1)]
        possible = [e for e in {*steps, *close} if e >= 1]
        for extent in chance.sample(possible, k=min(3, len(possible))):
            yield setting.at(**{name: extent})


def _bounded(expr: str, setting: Setting, chance: random.Random) -> Iterator[Setting]:
    """Values that end a little before or behind the condition's own bound."""
    names = {argument for ref in facts_in(parse(expr)) for argument in split_fact(ref.name)[1]}
    for bound in (float(n) for n in _NUMBER.findall(expr)):
        top = bound * chance.choice(_SHARES)
        values = chance.choice(
            (f"peaked({top:g})", f"uniform({-abs(top):g}, {abs(top):g})", f"uniform(0, {top:g})")
        )
        args = tuple(
            a.model_copy(update={"values": values}) if a.name in names else a for a in setting.workload.args
        )
        yield told_of_values(replace(setting, workload=setting.workload.model_copy(update={"args": args})))


def _nearest(mine: Sequence[Case], opposite: Sequence[Case], chance: random.Random) -> list[Case]:
    """By distance to the other side; cases of the same facts take turns with others, so that no one stands for all."""
    if not mine or not opposite:
        return []
    away = [_distance(case, opposite) for case in mine]
    order = sorted(range(len(mine)), key=lambda n: (away[n], chance.random()))
    turn: Counter[tuple[Scalar, ...]] = Counter()
    ranked = []
    for n in order:
        ranked.append((turn[mine[n].facts], n))
        turn[mine[n].facts] += 1
    return [replace(mine[n], distance=away[n]) for _, n in sorted(ranked, key=lambda r: r[0])]


def _distance(case: Case, opposite: Sequence[Case]) -> float:
    """The smallest sum of differences of the condition's facts; those that are no numbers differ by one."""
    place = np.array([_numbers(case.facts, case.facts)])
    others = np.array([_numbers(o.facts, case.facts) for o in opposite])
    return float(np.abs(others - place).sum(axis=1).min())


def _numbers(facts: Sequence[Scalar], of: Sequence[Scalar]) -> list[float]:
    flat: list[float] = []
    for value, origin in zip(facts, of, strict=True):
        if isinstance(value, str):
            flat.append(float(value != origin))
        elif isinstance(value, tuple):
            flat += [float(v) for v in value]
        else:
            flat.append(float(value))
    return flat
