"""Pinpoint: where what the check saw comes from.

A GPU says that a launch failed, not where; memcheck says it, on the same case, in its own process. A wrong element is
named by the check; the emulated device says which thread wrote it, on which line, and which changed lines fed it.
"""

from __future__ import annotations

from kernel_gate.built import Built
from kernel_gate.devices.base import Device
from kernel_gate.reasons import FAULT_REASONS, Reason
from kernel_gate.sanitizer.opinions import Tools
from kernel_gate.sanitizer.tool import SpareTools
from kernel_gate.stages.check import CheckResult
from kernel_gate.stages.origins import with_fault_origin, with_origin
from kernel_gate.verdict import Stage
from kernel_gate.workload import Workload

_WITHOUT_A_LINE = {
    Reason.OUT_OF_BOUNDS,
    Reason.ILLEGAL_ADDRESS,
    Reason.MISALIGNED,
    Reason.TRAP,
    Reason.DEVICE_LOST,
}
_WITH_AN_ADDRESS = {Reason.OUT_OF_BOUNDS, Reason.MISALIGNED, Reason.INPUT_OVERWRITTEN}
_SECONDS = 30.0


def pinpoint(
    device: Device,
    baseline: Built,
    candidate: Built,
    workload: Workload,
    checked: CheckResult,
    spares: SpareTools,
) -> Stage:
    """The check's stage; where a launch failed on a GPU, with the line, block and thread that memcheck saw."""
    stage, case = checked.stage, checked.ended_at
    at_fault = {"candidate": candidate, "baseline": baseline}.get(checked.at_fault)
    if at_fault is not None and case is not None and "output" in stage.details:
        return with_origin(stage, at_fault, baseline, workload, case)
    cause = _cause(stage)
    if device.kind == "emulated" and at_fault is not None and case is not None and cause in _WITH_AN_ADDRESS:
        return with_fault_origin(stage, at_fault, baseline, workload, case)
    if device.kind != "cuda" or at_fault is None or case is None or cause not in _WITHOUT_A_LINE:
        return stage
    with Tools(at_fault, workload, [case], spares, ["memcheck"]) as tools:
        seen = tools.opinion(_SECONDS).suspicions
    if not seen:
        return stage
    fault = seen[0].fault
    place = f"{at_fault.label}:{fault.line}" if fault.line is not None else at_fault.label
    details = {**stage.details, "fault": fault.kind, "line": fault.line, "memcheck": fault.message}
    code = FAULT_REASONS[fault.kind] if stage.code is cause else stage.code
    reason = f"{stage.reason}; {fault.message}; {place}"
    return stage.model_copy(update={"reason": reason, "details": details, "code": code})


def _cause(stage: Stage) -> Reason | None:
    """What went wrong in a launch; for the baseline it is in the details."""
    if stage.code is Reason.BASELINE_FAILS_CHECK:
        cause = stage.details.get("cause")
        return next((r for r in Reason if r == cause), None)
    return stage.code
