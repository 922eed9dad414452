"""Studying a step: split it, then probe each part that adds a mechanism."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from kernel_gate.verdict import Speedup
from kernel_lineage.learning.attribution.attribute import Attribution, Part, attribute
from kernel_lineage.learning.probes.asking import Budget, OutOfBudget
from kernel_lineage.learning.probes.probe import probe
from kernel_lineage.learning.probes.profit import conditions_of, sweeps
from kernel_lineage.learning.probes.report import ProbeReport
from kernel_lineage.learning.steps import Judge, Step
from kernel_lineage.learning.studying.common_ground import common_ground
from kernel_lineage.learning.studying.parts import Refusing, Studied, StudiedPart
from kernel_lineage.workloads.proof import Device

TRIALS = 120
"""States of one step that are tried to split it."""
PROBES = Budget(runs=300, seconds=60.0)
"""What probing one part may take."""
SECONDS = 120.0
"""What one step may take."""
_SPLITTING = 0.6
"""The share of it that goes to splitting at most."""
_LEAST_SECONDS = 10.0
"""For probing a part, however long the parts before it took."""


def study(
    step: Step,
    judge: Judge,
    *,
    device: Device,
    trials: int = TRIALS,
    probes: Budget = PROBES,
    seconds: float = SECONDS,
    effect: Speedup | None = None,
) -> Studied:
    """What a step teaches, on the sizes of the workload on which its two states agree.

    `effect` is the step's own, where it was measured. Raises `DeviceError`.
    """
    until = time.monotonic() + seconds
    try:
        ground = common_ground(step, judge)
    except OutOfBudget as limit:
        return Studied(compound=f"whether the two states agree at all was not found out: {limit}")
    if ground is None:
        return _narrowed(step, judge, probes)
    step = ground
    split = attribute(
        step,
        judge,
        device=device,
        trials=trials,
        seconds=_SPLITTING * (until - time.monotonic()),
        whole=effect,
    )
    to_probe = sum(bool(part.added_mechanisms) for part in split.parts) or 1

    def share() -> Budget:
        left = (until - time.monotonic()) / to_probe
        return replace(probes, seconds=min(probes.seconds, max(left, _LEAST_SECONDS)))

    parts: list[StudiedPart] = []
    cases = 0
    for number, part in enumerate(split.parts, 1):
        report = None
        is_rest = bool(split.reason) and number == len(split.parts)
        if part.added_mechanisms and not (is_rest and len(part.added_mechanisms) > 1):
            report = probe(_as_step(step, part), judge, share())
            to_probe -= 1
            cases += report.runs
        studied = _studied(part, report)
        if report is not None:
            studied = _with_profit(studied, _as_step(step, part), judge, device, until)
        parts.append(studied)
    if not split.parts:
        report = probe(step, judge, share())
        cases += report.runs
        parts.append(_with_profit(_whole(step, report, effect), step, judge, device, until))
    parts = _with_compound(split, parts)
    return Studied(
        parts=tuple(parts),
        interactions=split.interactions,
        compound=parts[-1].compound,
        trials=split.trials,
        probes=cases,
    )


def _narrowed(step: Step, judge: Judge, probes: Budget) -> Studied:
    """Where a step is right that fails on all that its workload names. What it brings there is not split."""
    report = probe(step, judge, probes)
    why = "the two states agree on no size that the workload names"
    parts = (_whole(step, report, None),) if report.conditions else ()
    return Studied(parts=parts, compound=why, probes=report.runs)


def _as_step(step: Step, part: Part) -> Step:
    return replace(step, before=part.before, after=part.after, mechanisms=part.added_mechanisms)


def _with_compound(split: Attribution, parts: Sequence[StudiedPart]) -> list[StudiedPart]:
    """What was not split further is the last part; it is no compound if it adds one mechanism at most."""
    *first, last = parts
    if not split.reason or len(last.added) < 2:
        return list(parts)
    return [*first, last.model_copy(update={"compound": split.reason})]


def _studied(part: Part, report: ProbeReport | None) -> StudiedPart:
    studied = StudiedPart(
        before=part.before,
        after=part.after,
        added=part.added_mechanisms,
        removed=part.removed_mechanisms,
        speedup=part.effect.speedup,
        counts=part.effect.counts,
    )
    return studied if report is None else _with_report(studied, report)


def _with_profit(part: StudiedPart, step: Step, judge: Judge, device: Device, until: float) -> StudiedPart:
    """With where it pays: of a part that a GPU has timed already, while there is time."""
    if part.speedup is None or time.monotonic() > until:
        return part
    ranges = sweeps(step, judge, device=device, valid=[c.expr for c in part.conditions])
    profit = (condition for sweep in ranges for condition in conditions_of(sweep, step))
    return part.model_copy(update={"conditions": (*part.conditions, *profit)})


def _whole(step: Step, report: ProbeReport, effect: Speedup | None) -> StudiedPart:
    whole = StudiedPart(
        before=step.before,
        after=step.after,
        added=step.mechanisms,
        speedup=effect,
    )
    return _with_report(whole, report)


def _with_report(part: StudiedPart, report: ProbeReport) -> StudiedPart:
    return part.model_copy(
        update={
            "conditions": tuple(probed_condition.condition for probed_condition in report.conditions),
            "risk": tuple(probed_condition.risk for probed_condition in report.conditions),
            "refusing": tuple(
                Refusing(expr=probed_condition.condition.expr, facts=probed_condition.counterexample.facts)
                for probed_condition in report.conditions
            ),
        }
    )
