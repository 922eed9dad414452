"""One case of the check: the candidate's launches, what is expected of them, and what is wrong with them."""

from __future__ import annotations

import time

from kernel_gate.cases import ALLOCATED, Case
from kernel_gate.devices.base import DeviceError
from kernel_gate.execution import SANITIZER_KINDS, Run
from kernel_gate.inputs import make_inputs
from kernel_gate.launching import LaunchError
from kernel_gate.reasons import FAULT_REASONS, Reason
from kernel_gate.stages.check_memory import check_memory
from kernel_gate.stages.check_state import (
    REPETITIONS,
    CheckState,
    Stop,
    execution_of,
    hard_fault,
    launch,
    promise_hint,
    say,
    stop_for_the_environment,
)
from kernel_gate.stages.judge_outputs import (
    compare_outputs,
    require_repeated,
    require_written,
    unless_order_decides,
)
from kernel_gate.stages.reference import Reference, run_baseline
from kernel_gate.stages.remembered import require_no_variable, require_nothing_remembered
from kernel_gate.stages.schedules import require_any_schedule


def check_case(run: CheckState, case: Case, *, again: bool) -> None:
    """One case. Raises `Stop` or `Dropped`.

    On named shapes the candidate goes first, so that nothing of the baseline's is left to be found; on the others the
    baseline does, because a shape that it does not take is not the candidate's to take.
    """
    if case.memory != ALLOCATED:
        check_memory(run, case)
        return
    inputs = make_inputs(run.workload, case)
    label = run.candidate.label
    reference = None if case.required else run_baseline(run, case, inputs)
    try:
        execution = execution_of(run, "candidate", case)
    except (LaunchError, DeviceError) as error:
        stop_for_the_environment(error, case)
        if reference is None:
            run_baseline(run, case, inputs)
        if case.scalars and not case.required and error.code is Reason.LAUNCH_NOT_COMPUTABLE:
            # Host code divides by a number that no caller is seen to pass, such as a probability of 1.
            needed = " or ".join(f"{name} != {value:g}" for name, value in case.scalars)
            run.conditions.setdefault(needed, f"{error}; {case}")
            return
        raise Stop("candidate", error.code, f"{error}; {case}{promise_hint(case)}") from error
    with execution:
        done = reference.done if reference is not None and run.is_beside_itself else None
        first = done or launch(run, execution, inputs, 0)
        fault = hard_fault(first)
        if fault is not None and fault.kind == "unsupported":
            message = say(fault, label, case)
            reason = f"the {run.device.kind} device cannot run this kernel: {message}"
            raise Stop("environment", Reason.UNSUPPORTED_INSTRUCTION, reason)
        if reference is None and not first.result.device_lost:
            reference = run_baseline(run, case, inputs, first if run.is_beside_itself else None)
        if fault is not None or reference is None:
            if fault is None:
                lost = {"fault": "device_lost", "line": None}
                raise Stop("candidate", FAULT_REASONS["device_lost"], "the device was lost", lost)
            about = {"fault": fault.kind, **fault.where()}
            raise Stop("candidate", FAULT_REASONS[fault.kind], say(fault, label, case), about)
        _keep_findings(run, case, first, reference)
        second = launch(run, execution, inputs, *REPETITIONS[1])
        require_written(run, case, first, second, reference)
        try:
            compare_outputs(run, case, first, reference)
            require_repeated(run, case, first, second, reference)
            if case.required:
                third = launch(run, execution, inputs, *REPETITIONS[2])
                require_repeated(run, case, first, third, reference)
        except Stop as stop:
            raise unless_order_decides(run, case, reference, stop) from stop
        if again:
            require_nothing_remembered(run, case, execution, inputs, first)
        if case.required:  # last, because other bytes are left in the variables of a program that keeps some
            require_no_variable(run, case, execution, inputs, first)
        require_any_schedule(run, case, execution, inputs, first, reference)
    if not run.strict:
        run.compared += 1
        run.passed.append(case)


def _keep_findings(run: CheckState, case: Case, done: Run, reference: Reference) -> None:
    """Findings of the device's detectors, for the sanitize stage.

    A buffer that the baseline, too, reads before writing it is the workload's to declare, not the candidate's fault.
    """
    for fault in done.faults:
        if fault.kind not in SANITIZER_KINDS:
            continue
        if fault.kind == "uninitialised" and fault.buffer in reference.reads_unwritten:
            name = fault.buffer
            run.notes.append(
                f'both programs read {name} before writing it; if they use it, it is kind = "inout"'
            )
            continue
        run.findings.append((fault, str(case)))
        if run.guilty_at is None and reference.done is not None:
            of_both = any(other.kind == fault.kind for other in reference.done.faults)
            run.guilty_at = None if of_both else time.monotonic()
