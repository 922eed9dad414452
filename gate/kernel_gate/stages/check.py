"""Check: the candidate's outputs on every case, element by element, against the oracle and the baseline's own error."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kernel_gate.cases import Case, elements
from kernel_gate.devices.base import Device, Fault
from kernel_gate.oracle import OracleProcess
from kernel_gate.stages.build import Built
from kernel_gate.stages.check_case import AtFault, CheckState, Dropped, Stop, check_case
from kernel_gate.verdict import Stage, StageStatus
from kernel_gate.workload import Workload

_FIXED_COST_SECONDS = 1.0
"""What a case may cost whatever its size (a launch, the oracle's start): less says nothing of larger cases."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What the check found, and whose fault it is."""

    stage: Stage
    at_fault: AtFault = "none"
    candidate_findings: tuple[tuple[Fault, str], ...] = ()
    """What the device's detectors found in the candidate, with the case; for the sanitize stage."""
    launches: int = 0


def check(
    device: Device,
    baseline: Built,
    candidate: Built,
    workload: Workload,
    cases: Sequence[Case],
    *,
    oracle: OracleProcess | None,
    seconds: float,
    progress: Callable[[str, float], None],
) -> CheckResult:
    """Run every case, cheapest first, until one fails or the time is spent."""
    run = CheckState(device, baseline, candidate, workload, oracle)
    started = time.monotonic()
    unreached: list[Case] = []
    last = (0.0, 1)
    for number, case in enumerate(cases):
        size = elements(workload, case.dims)
        spent = time.monotonic() - started
        expected = last[0] * size / last[1] if last[0] > _FIXED_COST_SECONDS else 0.0
        if spent + expected > seconds:
            unreached.append(case)
            continue
        progress(str(case), number / len(cases))
        before = time.monotonic()
        try:
            check_case(run, case, again=number == 0)
        except Dropped as dropped:
            run.dropped.append(f"{case}: {dropped}")
        except Stop as stop:
            return _stopped(run, stop, case)
        last = (time.monotonic() - before, max(1, size))
    return _finished(run, cases, unreached, seconds)


def _details(run: CheckState) -> dict[str, Any]:
    return {
        "device": run.device.kind,
        "cases": run.compared,
        "launches": run.launches,
        "tolerances": run.tolerances,
        "errors": {name: {"candidate": c, "baseline": b} for name, (c, b) in run.errors.items()},
        "dropped": run.dropped,
        "notes": list(dict.fromkeys(run.notes)),
    }


def _stopped(run: CheckState, stop: Stop, case: Case) -> CheckResult:
    status = StageStatus.FAIL if stop.at_fault == "candidate" else StageStatus.UNAVAILABLE
    about = {"case": str(case), "dims": dict(case.dims), "seed": case.seed, "inputs": str(case.variation)}
    stage = Stage(
        name="check", status=status, reason=stop.reason, details={**_details(run), **about, **stop.details}
    )
    return CheckResult(stage, stop.at_fault, tuple(run.findings), run.launches)


def _finished(run: CheckState, cases: Sequence[Case], unreached: list[Case], seconds: float) -> CheckResult:
    details = {**_details(run), "unreached": [str(case) for case in unreached]}

    def unavailable(reason: str, at_fault: AtFault) -> CheckResult:
        stage = Stage(name="check", status=StageStatus.UNAVAILABLE, reason=reason, details=details)
        return CheckResult(stage, at_fault, tuple(run.findings), run.launches)

    if not run.compared:
        why = f"; {run.dropped[0]}" if run.dropped else "; give the workload's dims at least one shape"
        return unavailable(f"nothing was compared: {len(cases)} cases{why}", "workload")
    blind = [a.name for a in run.workload.args if a.kind in {"output", "inout"} and a.name not in run.noticed]
    if blind:
        return unavailable(
            f"the workload cannot tell a right {', '.join(blind)} from a constant one; give inputs that vary",
            "workload",
        )
    if missing := [c for c in unreached if c.required]:
        return unavailable(
            f"{run.compared} cases agree, but {len(missing)} named shapes did not fit into {seconds:g} s on the "
            f"{run.device.kind} device; the first is {missing[0]}",
            "environment",
        )
    return CheckResult(
        Stage(
            name="check",
            status=StageStatus.PASS,
            reason=f"{run.compared} cases agree in every element",
            details=details,
        ),
        "none",
        tuple(run.findings),
        run.launches,
    )
