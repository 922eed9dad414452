"""Why a result depends on chance: a race or an uninitialised read explains what only shows as its consequence.

That two launches differ, or that an output may not lie in an input, is a symptom when a detector has seen the cause on
the same shape with buffers as an allocator places them. What the baseline does as well explains nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernel_gate.built import Built
from kernel_gate.cases import ALLOCATED, Case
from kernel_gate.devices.base import Device, Fault
from kernel_gate.reasons import FAULT_REASONS, Reason
from kernel_gate.sanitizer.opinions import Tools, emulate
from kernel_gate.sanitizer.tool import SpareTools
from kernel_gate.shapes import elements
from kernel_gate.stages.check import CheckResult
from kernel_gate.verdict import Stage, StageStatus
from kernel_gate.workload import Workload

_EXPLAINED = {Reason.NOT_REPEATABLE, Reason.ALIAS_SENSITIVE}
"""Symptoms: the cause takes their place."""
_PERHAPS = {Reason.WRONG_VALUE, Reason.NAN_MASK_DIFFERS, Reason.LESS_PRECISE}
"""May have another cause: what a detector has seen is said beside them."""
_TOOLS = ("racecheck", "initcheck")
_SECONDS = 20.0
_MOST_ELEMENTS = 1 << 18


def with_cause(
    device: Device,
    baseline: Built,
    candidate: Built,
    workload: Workload,
    checked: CheckResult,
    spares: SpareTools,
) -> Stage:
    """The check's stage; where the detectors explain how the candidate failed, with that as its reason."""
    stage, ended_at = checked.stage, checked.ended_at
    asked = stage.code in _EXPLAINED or (stage.code in _PERHAPS and bool(checked.candidate_findings))
    if stage.status is not StageStatus.FAIL or ended_at is None or not asked:
        return stage
    case = replace(ended_at, memory=ALLOCATED)
    faults = [fault for fault, _ in checked.candidate_findings]
    if device.kind == "cuda":
        faults = _watched(candidate, workload, case, spares)
    if not faults:
        return stage
    theirs = emulate(baseline, workload, [case], _SECONDS).suspicions
    pairs = {(s.fault.kind, s.fault.buffer) for s in theirs}
    fault = next((f for f in faults if (f.kind, f.buffer) not in pairs), None)
    return stage if fault is None else _explained(stage, fault, candidate.label, case)


def _watched(candidate: Built, workload: Workload, case: Case, spares: SpareTools) -> list[Fault]:
    """What the emulated device's detectors see on a case, else compute-sanitizer's tools."""
    if elements(workload, case.dims) > _MOST_ELEMENTS:
        return []
    seen = emulate(candidate, workload, [case], _SECONDS).suspicions
    if not seen:
        with Tools(candidate, workload, [case], spares, _TOOLS) as tools:
            seen = tools.opinion(_SECONDS).suspicions
    return [suspicion.fault for suspicion in seen]


def _explained(stage: Stage, fault: Fault, label: str, case: Case) -> Stage:
    place = f"{label}:{fault.line}" if fault.line is not None else label
    if stage.code in _PERHAPS:
        reason = f"{stage.reason}; perhaps because of a {fault.message} ({place})"
        return stage.model_copy(update={"reason": reason})
    about: dict[str, Any] = {"fault": fault.kind, **fault.where(), "symptom": stage.code}
    shows = f"seen as {stage.code}"
    if stage.details.get("fault") != fault.kind:
        shows += f": {stage.reason}"
    return stage.model_copy(
        update={
            "code": FAULT_REASONS[fault.kind],
            "reason": f"{fault.message}; {case}; {place}; {shows}",
            "details": {**stage.details, **about},
        }
    )
