"""Whose doing a difference is where the baseline's outputs are the reference, and the baseline has a fault itself."""

from __future__ import annotations

from collections.abc import Sequence

from kernel_gate.built import Built
from kernel_gate.cases import Case
from kernel_gate.reasons import Reason
from kernel_gate.sanitizer.opinions import emulate
from kernel_gate.shapes import elements
from kernel_gate.verdict import Stage, StageStatus
from kernel_gate.workload import Workload

_DIFFERS = {Reason.WRONG_VALUE, Reason.NAN_MASK_DIFFERS, Reason.LESS_PRECISE, Reason.WRONG_AFTER_TIMING}
_MOST_ELEMENTS = 1 << 17
_SECONDS = 2.0


def unless_found_in_the_baseline(profiled: Stage, before: Sequence[Stage]) -> Stage:
    """The profile's stage; a difference from a baseline in which the detectors found a fault too decides nothing."""
    finding = next((s for s in before if s.name == "sanitize" and s.status is StageStatus.UNAVAILABLE), None)
    if (
        profiled.code is not Reason.WRONG_AFTER_TIMING
        or finding is None
        or not finding.details.get("findings")
    ):
        return profiled
    reason = f"the outputs differ, which a fault of the baseline explains as well: {profiled.reason}; {finding.reason}"
    return profiled.model_copy(
        update={"status": StageStatus.UNAVAILABLE, "code": finding.code, "reason": reason}
    )


def unless_the_baseline_races(
    stage: Stage, baseline: Built, workload: Workload, cases: Sequence[Case]
) -> Stage:
    """The stage; one that found a difference decides nothing when the baseline, its only reference, has a race.

    On a GPU a race need not show on the cases that are checked, and then shows at the size that is timed, as a
    difference that looks like the candidate's. The emulated device sees the race itself, on a small case.
    """
    if stage.status is not StageStatus.FAIL or stage.code not in _DIFFERS or workload.oracle is not None:
        return stage
    small = [c for c in cases if c.required and elements(workload, c.dims) <= _MOST_ELEMENTS]
    case = min(small, key=lambda c: elements(workload, c.dims), default=None)
    suspicions = emulate(baseline, workload, [case] if case is not None else [], _SECONDS).suspicions
    race = next((s for s in suspicions if s.fault.kind == "race"), None)
    if race is None:
        return stage
    line = f":{race.fault.line}" if race.fault.line is not None else ""
    reason = (
        f"the baseline does not pass its own check: {race.fault.message}; {race.case}; {baseline.label}{line}; it "
        f"gives other values each time, so that a difference is nobody's in particular: {stage.reason}"
    )
    details = {**stage.details, **race.fault.where(), "cause": Reason.RACE, "case": race.case}
    return stage.model_copy(
        update={
            "status": StageStatus.UNAVAILABLE,
            "code": Reason.BASELINE_FAILS_CHECK,
            "reason": reason,
            "details": details,
        }
    )
