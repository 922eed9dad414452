"""Studying a step: split it, then probe each part that adds a mechanism."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from kernel_gate.request import ProgramModel
from kernel_lineage.learning.attribution.attribute import Attribution, Part, attribute
from kernel_lineage.learning.probes.asking import Budget, OutOfBudget
from kernel_lineage.learning.probes.probe import probe
from kernel_lineage.learning.probes.report import ProbeReport
from kernel_lineage.learning.steps import Judge, Step
from kernel_lineage.learning.studying.common_ground import common_ground
from kernel_lineage.learning.studying.parts import Refusing, Studied, StudiedPart
from kernel_lineage.rewrite.drafting.proof import Device

TRIALS = 40
"""States of one step that are tried to split it."""
PROBES = Budget(runs=300, seconds=60.0)
"""What probing one part may take."""


def study(
    step: Step,
    judge: Judge,
    *,
    device: Device,
    trials: int = TRIALS,
    probes: Budget = PROBES,
    on_progress: Callable[[str], None] = lambda _said: None,
) -> Studied:
    """What a step teaches, on the sizes of the workload on which its two states agree. Raises `DeviceError`."""
    try:
        ground = common_ground(step, judge)
    except OutOfBudget as limit:
        return Studied(compound=f"whether the two states agree at all was not found out: {limit}")
    if ground is None:
        return Studied(compound="the two states agree on no size that the workload names")
    step = ground
    split = attribute(step, judge, device=device, trials=trials, on_trial=on_progress)
    parts: list[StudiedPart] = []
    cases = 0
    for number, part in enumerate(split.parts, 1):
        report = None
        if part.added_mechanisms:
            on_progress(f"probing part {number} of {len(split.parts)}")
            report = probe(_as_step(step, part), judge, probes)
            cases += report.runs
        parts.append(_studied(part, report))
    if not split.parts:
        report = probe(step, judge, probes)
        cases += report.runs
        parts.append(_whole(step, report))
    return Studied(
        parts=tuple(parts),
        interactions=split.interactions,
        compound=_compound(split, parts),
        trials=split.trials,
        probes=cases,
    )


def _as_step(step: Step, part: Part) -> Step:
    return replace(step, before=part.before, after=part.after, mechanisms=part.added_mechanisms)


def _compound(split: Attribution, parts: Sequence[StudiedPart]) -> str:
    """Why the step is compound. A step that was not split is none if it adds one mechanism at most."""
    if split.parts or len({name for part in parts for name in part.added}) > 1:
        return split.reason
    return ""


def _studied(part: Part, report: ProbeReport | None) -> StudiedPart:
    studied = StudiedPart(
        before=ProgramModel.of(part.before),
        after=ProgramModel.of(part.after),
        added=part.added_mechanisms,
        removed=part.removed_mechanisms,
        speedup=part.effect.speedup,
        counts=part.effect.counts,
    )
    return studied if report is None else _with_report(studied, report)


def _whole(step: Step, report: ProbeReport) -> StudiedPart:
    whole = StudiedPart(
        before=ProgramModel.of(step.before), after=ProgramModel.of(step.after), added=step.mechanisms
    )
    return _with_report(whole, report)


def _with_report(part: StudiedPart, report: ProbeReport) -> StudiedPart:
    return part.model_copy(
        update={
            "conditions": tuple(found.condition for found in report.conditions),
            "risk": tuple(found.risk for found in report.conditions),
            "refusing": tuple(
                Refusing(expr=found.condition.expr, facts=found.refuses.facts) for found in report.conditions
            ),
            "not_reached": report.not_reached if report.passes else (report.reason,),
        }
    )
