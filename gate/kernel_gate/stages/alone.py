"""A candidate whose host code launches other kernels beside the one that was run: together they are not judged."""

from __future__ import annotations

from collections.abc import Iterable

from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.verdict import Stage, StageStatus

_OF_VALUES = frozenset({Reason.WRONG_VALUE, Reason.NOT_WRITTEN, Reason.NAN_MASK_DIFFERS, Reason.LESS_PRECISE})
"""What may be right once the other kernels have run; an access out of bounds, or a race, is wrong whatever they do."""


def judged_alone(stages: Iterable[Stage], candidate: Program) -> list[Stage]:
    """The stages; where other kernels do a part of the work, what was seen of one of them decides nothing."""
    return [_alone(stage, candidate) for stage in stages] if candidate.beside else list(stages)


def _alone(stage: Stage, candidate: Program) -> Stage:
    others = ", ".join(candidate.beside)
    if stage.name == "profile" and stage.status is StageStatus.FAIL:
        reason = f"{stage.reason}; without {others}"
    elif stage.name == "check" and stage.status is StageStatus.PASS:
        reason = f"{others}, launched beside {candidate.entry}, was not run; {stage.reason}"
    elif stage.name == "check" and stage.code in _OF_VALUES:
        reason = f"{others}, launched beside {candidate.entry}, was not run; without it {stage.reason}"
    else:
        return stage
    update = {"status": StageStatus.UNAVAILABLE, "code": Reason.WORK_BESIDE, "reason": reason}
    return stage.model_copy(update=update)
