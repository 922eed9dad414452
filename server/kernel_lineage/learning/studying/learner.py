"""Studying as a learner of replay: optimisations are split and probed once, and what that gave is kept."""

from __future__ import annotations

from functools import partial

from kernel_gate.verdict import SpeedState
from kernel_lineage.history.model import Intent
from kernel_lineage.learning.apart import Processes
from kernel_lineage.learning.probes.asking import Budget
from kernel_lineage.learning.replay.learners import NO_WORK, Learned, Learner, Replayed, StepRisk
from kernel_lineage.learning.steps import Judge
from kernel_lineage.learning.studying.apart import study_apart
from kernel_lineage.learning.studying.study import PROBES, SECONDS, study
from kernel_lineage.workloads.proof import Device


def studying(
    device: Device,
    *,
    probes: Budget = PROBES,
    seconds: float = SECONDS,
    processes: Processes | None = None,
) -> Learner:
    """The learner; with `processes` each study is done in one of them.

    A step that is right at some sizes and fails at others is the most telling of all: it lacks the condition that
    would have kept it to the former.
    """

    def learn(replayed: Replayed, judge: Judge) -> Learned:
        step = replayed.step
        if step is None or not _is_studied(replayed):
            return Learned()
        how = study if processes is None else partial(study_apart, processes=processes)
        effect = replayed.record.effect
        studied = how(step, judge, device=device, probes=probes, seconds=seconds, effect=effect)
        return Learned(
            conditions=tuple(c for part in studied.parts for c in part.conditions),
            risk=tuple(
                StepRisk(kind="probe", message=risk.what, transition=step.transition)
                for part in studied.parts
                for risk in part.risk
            ),
            studied=studied,
        )

    return Learner("study 5", learn, place=place_of)


def place_of(replayed: Replayed) -> int:
    """First steps that were seen to pay and add something, then those that are right, then what failed somewhere."""
    record, transition = replayed.record, replayed.item.transition
    if not _is_studied(replayed):
        return NO_WORK
    teaches = 0 if transition.added else 10
    if record.status not in ("reproduced", "narrower"):
        return teaches + 3
    return teaches + (0 if record.effect is not None and record.effect.state is SpeedState.FAST else 1)


_STUDIED = ("reproduced", "narrower", "failed")


def _is_studied(replayed: Replayed) -> bool:
    wanted = replayed.item.transition.intent is Intent.OPTIMISATION
    return replayed.record.step is not None and wanted and replayed.record.status in _STUDIED
