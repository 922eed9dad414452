"""`probe`: all axes over one step, in an order in which what one finds helps the next."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kernel_lineage.learning.probes import probed_conditions
from kernel_lineage.learning.probes.asking import Asking, Budget, OutOfBudget, Saw
from kernel_lineage.learning.probes.axis import Axis, Ground
from kernel_lineage.learning.probes.findings import AxisFindings
from kernel_lineage.learning.probes.hints import hints_of
from kernel_lineage.learning.probes.learning import learn
from kernel_lineage.learning.probes.other_side import close_by
from kernel_lineage.learning.probes.proofs import ID as PROOFS
from kernel_lineage.learning.probes.proofs import Proved, proved
from kernel_lineage.learning.probes.registry import axes
from kernel_lineage.learning.probes.report import ProbedCondition, ProbeReport
from kernel_lineage.learning.probes.said_better import drop_what_is_said_better
from kernel_lineage.learning.probes.setting import Setting
from kernel_lineage.learning.probes.shares import shares
from kernel_lineage.learning.probes.starting import Start, starts
from kernel_lineage.learning.steps import Judge, Step

SEED = 91
_MOST_OTHERS = 6
"""Further shapes that other axes than the sizes are held out on."""
_FIRST, _LAST = "sizes", "masks"
_NARROWING = 0.6
"""The part of what is left that may be spent on one way to narrow a step that fails."""


def probe(
    step: Step,
    judge: Judge,
    budget: Budget = Budget(),  # noqa: B008 - frozen
    *,
    seed: int = SEED,
    only: Sequence[str] = (),
) -> ProbeReport:
    """What must hold for the later state of a step and need not for the earlier one.

    Where the later state fails on some or all of what the workload names, that is narrowed to where it is right.

    `only` names the axes to probe, `proofs` among them; by default all. Raises `DeviceError` when the judge has no
    emulated device.
    """
    asking = Asking(judge, budget)
    about = {
        "transition": step.transition,
        "kernel": step.workload.kernel,
        "device": "emulated",
        "seed": seed,
    }
    try:
        origins, why = starts(step, asking, seed)
    except OutOfBudget as limit:
        return ProbeReport(**about, passes=False, reason=str(limit), runs=asking.runs)
    report = ProbeReport(**about, passes=False, reason=why, runs=asking.runs)
    for start in origins:
        if start.axis and not _narrows(step, start, asking, seed):
            asking.share(1.0)  # all that is left, to look for another one
            continue
        report = _from(step, start, asking, report.model_copy(update={"passes": not why}), only)
        break
    return report.model_copy(update={"runs": asking.runs})


def _narrows(step: Step, start: Start, asking: Asking, seed: int) -> bool:
    """Whether what the workload names and the later state fails in is parted from where it is right, along the axis
    that has led from one to the other. What is asked for that is asked once.
    """
    ground = Ground(start.base, hints=hints_of(step), start=start.axis, named=start.failing)
    asking.share(_NARROWING)
    return any(not f.why_dropped for f in learn(axes()[start.axis], ground, asking, seed).findings)


def _from(
    step: Step,
    start: Start,
    asking: Asking,
    empty: ProbeReport,
    only: Sequence[str],
) -> ProbeReport:
    """What probing from one setting finds, in the place of `empty`."""
    base, seed = start.base, empty.seed
    ground = Ground(base, hints=hints_of(step), start=start.axis, named=start.failing)
    if only and _FIRST not in only:
        ground = replace(ground, others=tuple(_neighbours(ground, asking)))
    by_axis: dict[str, AxisFindings] = {}
    order = tuple(_in_order(only))
    for axis, part in zip(order, shares(order, ground, asking), strict=True):
        asking.share(part)
        by_axis[axis.id] = learn(axis, ground, asking, seed)
        drop_what_is_said_better(by_axis, by_axis[axis.id])
        learned = [f for findings in by_axis.values() for f in findings.findings if not f.why_dropped]
        ground = replace(ground, known=tuple(f.atom for f in learned))
        if axis.id == _FIRST:
            failing = tuple(f.example.setting for f in learned)
            ground = replace(ground, others=tuple(_others(base, by_axis[axis.id])), failing=failing)
    _try_the_other_side(order, by_axis, ground, asking, seed)
    proof = proved(ground, seed, step.transition) if not only or PROOFS in only else Proved()
    conditions = [
        condition
        for axis, findings in by_axis.items()
        for condition in probed_conditions.conditions_of(axis, step.transition, findings)
    ]
    conditions += proof.conditions
    dropped = [d for axis, findings in by_axis.items() for d in probed_conditions.dropped_of(axis, findings)]
    cut = [f"{axis}: {f.cut}" for axis, f in by_axis.items() if f.cut]
    return empty.model_copy(
        update={
            "conditions": _distinct(conditions),
            "dropped": (*dropped, *proof.dropped),
            "not_reached": (*cut, *([f"{PROOFS}: {proof.why_not}"] if proof.why_not else [])),
        }
    )


def _try_the_other_side(
    order: Sequence[Axis], by_axis: Mapping[str, AxisFindings], ground: Ground, asking: Asking, seed: int
) -> None:
    """Adds to each condition that stands what cases close to it on its other side show, with what is left to spend."""
    answers = [answer for findings in by_axis.values() for answer in findings.answers]
    for axis in order:
        findings = by_axis[axis.id].findings
        for position, finding in enumerate(findings):
            if finding.why_dropped:
                continue
            chance = random.Random(f"{seed} {axis.id} {finding.atom.expr}")
            with asking.whole():
                near, agree = close_by(axis, ground, finding.atom, answers, asking, chance)
            confirmation = finding.confirmation.model_copy(update={"near": near, "near_agree": agree})
            findings[position] = replace(finding, confirmation=confirmation)


def _in_order(only: Sequence[str]) -> Iterator[Axis]:
    """Sizes first: the others are held out on the shapes that agree. Masks last: an infinity is a large value too."""
    chosen = [axis for axis in axes().values() if not only or axis.id in only]
    yield from sorted(chosen, key=lambda axis: (axis.id != _FIRST, axis.id == _LAST, axis.id))


def _others(base: Setting, log: AxisFindings) -> Iterator[Setting]:
    """Other shapes on which both agree, spread over those that were probed."""
    agreeing = [a.setting for a in log.answers if a.saw is Saw.AGREES and a.setting.size <= 4 * base.size]
    step = max(1, len(agreeing) // _MOST_OTHERS)
    yield from agreeing[::step][:_MOST_OTHERS]


_NEIGHBOURS = 12


def _neighbours(ground: Ground, asking: Asking) -> Iterator[Setting]:
    """Shapes around the base on which both agree, where the sizes themselves are not probed."""
    try:
        for answer in asking.all(itertools.islice(axes()[_FIRST].boundaries(ground), _NEIGHBOURS)):
            if answer.saw is Saw.AGREES:
                yield answer.setting
    except OutOfBudget:
        return


def _distinct(conditions: Sequence[ProbedCondition]) -> tuple[ProbedCondition, ...]:
    """One of each expression: the first axis that found it."""
    kept: dict[str, ProbedCondition] = {}
    for condition in conditions:
        kept.setdefault(condition.condition.expr, condition)
    return tuple(kept.values())
