"""A candidate of which more or less was run than what takes the place of the baseline: other kernels that its host code
launches beside it and what PyTorch works out there were not, a second call was, or calls that launch nothing were not.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.verdict import Stage, StageStatus

_OF_VALUES = frozenset({Reason.WRONG_VALUE, Reason.NOT_WRITTEN, Reason.NAN_MASK_DIFFERS, Reason.LESS_PRECISE})
"""What may be right once the other kernels have run; an access out of bounds, or a race, is wrong whatever they do.

But where the kernel is as it was, and only its numbers are others, the buffers may be larger as well.
"""


def judged_alone(stages: Iterable[Stage], baseline: Program, candidate: Program) -> list[Stage]:
    """The stages; where other kernels do a part of the work, what was seen of one of them decides nothing, and where
    the candidate is called more often than the baseline, its times say nothing of being slower.
    """
    if candidate.calls > baseline.calls:
        stages = (_not_timed_alike(stage, candidate) for stage in stages)
    if candidate.skipped_where:
        stages = (_on_some_calls(stage, candidate) for stage in stages)
    if candidate.of_torch:
        return [_with_torch(stage, candidate) for stage in stages]
    excused = _OF_VALUES | ({Reason.OUT_OF_BOUNDS} if candidate.source == baseline.source else set())
    return [_alone(stage, candidate, excused) for stage in stages] if candidate.beside else list(stages)


def _with_torch(stage: Stage, candidate: Program) -> Stage:
    """A launch that is given other data than the baseline's, or whose results are not the function's, tells nothing."""
    if stage.name == "build" or stage.status not in (StageStatus.PASS, StageStatus.FAIL):
        return stage
    reason = f"{', '.join(candidate.of_torch)} before and after the change is not the same; {stage.reason}"
    update = {"status": StageStatus.UNAVAILABLE, "code": Reason.WORK_BESIDE, "reason": reason}
    return stage.model_copy(update=update)


def _not_timed_alike(stage: Stage, candidate: Program) -> Stage:
    if stage.name != "profile" or stage.status is not StageStatus.FAIL:
        return stage
    reason = f"not profiled: {candidate.calls} calls of the candidate were timed; {stage.reason}"
    update = {"status": StageStatus.UNAVAILABLE, "code": Reason.NOT_PROFILED, "reason": reason}
    return stage.model_copy(update=update)


def _on_some_calls(stage: Stage, candidate: Program) -> Stage:
    if stage.name != "check" or stage.status is not StageStatus.PASS:
        return stage
    asked = " and ".join(f"`{condition}`" for condition in candidate.skipped_where)
    reason = f"by {asked} the host code decides from call to call what it launches, and did not before; {stage.reason}"
    update = {"status": StageStatus.UNAVAILABLE, "code": Reason.LAUNCH_SKIPPED, "reason": reason}
    return stage.model_copy(update=update)


def _alone(stage: Stage, candidate: Program, excused: Set[Reason]) -> Stage:
    others = ", ".join(candidate.beside)
    if stage.name == "profile" and stage.status is StageStatus.FAIL:
        reason = f"{stage.reason}; without {others}"
    elif stage.name == "check" and stage.status is StageStatus.PASS:
        reason = f"{others}, launched beside {candidate.entry}, was not run; {stage.reason}"
    elif stage.name == "check" and stage.code in excused:
        reason = f"{others}, launched beside {candidate.entry}, was not run; without it {stage.reason}"
    else:
        return stage
    update = {"status": StageStatus.UNAVAILABLE, "code": Reason.WORK_BESIDE, "reason": reason}
    return stage.model_copy(update=update)
