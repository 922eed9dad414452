"""Sanitize: what detectors of races and uninitialised reads found in the candidate.

On the emulated device the detectors watch every launch of the check. On a GPU the candidate's PTX runs once more on
the emulated device, on small shapes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from kernel_gate.build.compile import compile_program
from kernel_gate.build.errors import BuildError, CompilerMissing
from kernel_gate.cases import Case, elements
from kernel_gate.devices.base import Device, DeviceError, Fault
from kernel_gate.devices.opening import EMULATED_ARCH, open_emulated
from kernel_gate.execution import Execution
from kernel_gate.inputs import make_inputs
from kernel_gate.launching import LaunchError, bind
from kernel_gate.program import Program
from kernel_gate.stages.check import CheckResult
from kernel_gate.verdict import Stage, StageStatus
from kernel_gate.workload import Workload

_CASES = 4
_SECONDS = 20.0
_MOST_ELEMENTS = 1 << 18


def sanitize(
    device: Device,
    candidate: Program,
    workload: Workload,
    cases: Sequence[Case],
    checked: CheckResult,
    progress: Callable[[str, float], None],
) -> Stage:
    """The stage, from the check's own launches or from launches on the emulated device."""
    label = candidate.name or candidate.entry
    if device.kind == "emulated":
        return _judge(checked.candidate_findings, label, checked.launches)
    small = sorted((c for c in cases if c.required), key=lambda c: elements(workload, c.dims))
    small = [c for c in small if elements(workload, c.dims) <= _MOST_ELEMENTS][:_CASES]
    if not small:
        return _unavailable(
            "no shape of the workload is small enough for the emulated detectors; add one to dims"
        )
    progress("emulated detectors", 0.0)
    try:
        return _emulate(candidate, workload, small, label)
    except (BuildError, CompilerMissing, LaunchError, DeviceError) as error:
        return _unavailable(f"the emulated detectors cannot run this kernel: {error}")


def _unavailable(reason: str) -> Stage:
    return Stage(name="sanitize", status=StageStatus.UNAVAILABLE, reason=reason)


def _judge(findings: Sequence[tuple[Fault, str]], label: str, launches: int) -> Stage:
    details = {
        "detectors": ["bounds", "alignment", "barriers", "races", "uninitialised reads"],
        "device": "emulated",
        "launches": launches,
        "findings": [{"kind": f.kind, "line": f.line, "message": f.message, "case": c} for f, c in findings][
            :20
        ],
    }
    if findings:
        fault, case = findings[0]
        line = f"; {label}:{fault.line}" if fault.line is not None else f"; {label}"
        return Stage(
            name="sanitize", status=StageStatus.FAIL, reason=f"{fault.message}; {case}{line}", details=details
        )
    reason = f"{launches} launches under the emulated device's detectors, nothing found"
    return Stage(name="sanitize", status=StageStatus.PASS, reason=reason, details=details)


def _emulate(candidate: Program, workload: Workload, cases: Sequence[Case], label: str) -> Stage:
    bounds = {id(case): bind(workload, candidate, case.dims) for case in cases}
    units = list(dict.fromkeys(bound.unit for bound in bounds.values()))
    images = compile_program(candidate, EMULATED_ARCH, units)
    device = open_emulated(_SECONDS)
    findings: list[tuple[Fault, str]] = []
    launches = 0
    deadline = time.monotonic() + _SECONDS
    for case in cases:
        if launches and time.monotonic() > deadline:
            break
        image = images[bounds[id(case)].unit]
        with Execution(device, device.load(image), image, workload, candidate, bounds[id(case)]) as execution:
            done = execution.run(make_inputs(workload, case), 0)
        launches += 1
        for fault in done.faults:
            if fault.kind in {"unsupported", "timeout"}:
                return _unavailable(f"the emulated detectors cannot run this kernel: {fault.message}")
        findings += [(fault, str(case)) for fault in done.faults]
    device.close()
    return _judge(findings, label, launches)
