"""A case whose buffers lie otherwise: misaligned by choice, or an output in an input.

Both programs are rehearsed on the emulated device, because a misaligned access would cost a GPU its context. What the
baseline does not take says nothing of the candidate.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from kernel_gate.cases import ALLOCATED, Case, Memory
from kernel_gate.devices.base import DeviceError, Fault
from kernel_gate.dtypes import Array
from kernel_gate.execution import SANITIZER_KINDS, Run
from kernel_gate.inputs import make_inputs
from kernel_gate.launching import LaunchError
from kernel_gate.reasons import FAULT_REASONS, Reason
from kernel_gate.stages.check_state import (
    CheckState,
    Dropped,
    Stop,
    Who,
    execution_of,
    launch,
    launch_baseline,
    rehearsal_of,
)
from kernel_gate.stages.judge_outputs import agrees, compare_outputs
from kernel_gate.stages.reference import Reference, run_baseline

_NOT_FOUND_HERE = frozenset({"unsupported", "timeout"})
_SIZE = re.compile(r"past a multiple of (\d+)")


def check_memory(run: CheckState, case: Case) -> None:
    """Raise `Stop` where the candidate needs more of memory than the workload promises; `Dropped` where both do.

    Where nothing is promised of an address, that the candidate needs alignment is kept as a condition and said.
    """
    inputs = make_inputs(run.workload, case)
    reference = run_baseline(run, replace(case, memory=ALLOCATED), inputs)
    before = _rehearse(run, "baseline", case, inputs)
    _require_baseline(run, case, before, reference)
    after = before if run.is_beside_itself else _rehearse(run, "candidate", case, inputs)
    fault = _telling(case, after)
    if fault is not None and fault.kind in _NOT_FOUND_HERE:
        raise Dropped(FAULT_REASONS[fault.kind], f"the emulated device cannot run it: {fault.message}")
    if fault is not None and fault.kind == "misaligned" and not case.required and fault.buffer is not None:
        _keep_condition(run, fault)
        rest = tuple((name, by) for name, by in case.memory.offsets if name != fault.buffer)
        if rest and len(rest) < len(case.memory.offsets):
            check_memory(run, replace(case, memory=Memory(rest)))
            return
        run.compared += 1
        return
    if fault is not None:
        raise Stop(
            "candidate",
            _code(case, fault),
            _sentence(run, case, fault),
            {"fault": fault.kind, **fault.where()},
        )
    _compare(run, case, after, reference)
    if run.device.kind != "emulated":
        with execution_of(run, "candidate", case) as execution:
            _compare(run, case, launch(run, execution, inputs, 0), reference)
    run.compared += 1


def _rehearse(run: CheckState, who: Who, case: Case, inputs: Mapping[str, Array]) -> Run:
    try:
        with rehearsal_of(run, who, case) as execution:
            if who == "baseline":
                return launch_baseline(run, case, execution, inputs, 0)
            return launch(run, execution, inputs, 0)
    except (LaunchError, DeviceError) as error:
        raise Dropped(error.code, str(error)) from error


def _telling(case: Case, done: Run) -> Fault | None:
    """The first fault that speaks of where buffers lie: a race does only where one buffer stands for two arguments."""
    silent = {"uninitialised"} if case.memory.alias is not None else SANITIZER_KINDS
    return next((fault for fault in done.faults if fault.kind not in silent), None)


def _require_baseline(run: CheckState, case: Case, done: Run, reference: Reference) -> None:
    """Raise `Dropped`, or `Stop` where the workload says that the baseline takes such memory."""
    fault = _telling(case, done)
    code, why = Reason.WRONG_VALUE, ""
    if fault is not None:
        code, why = FAULT_REASONS[fault.kind], fault.message
    else:
        apart = next(
            (name for name, got in done.outputs.items() if not agrees(run, case, name, got, reference)), None
        )
        why = f"{apart} is another then" if apart is not None else ""
    if not why:
        return
    if case.required and (fault is None or fault.kind not in _NOT_FOUND_HERE):
        reason = f"the baseline does not take the memory that the workload promises: {why}; {case}"
        raise Stop("baseline", Reason.BASELINE_FAILS_CHECK, reason, {"cause": code})
    raise Dropped(code, f"the baseline does not take it: {why}")


def _compare(run: CheckState, case: Case, done: Run, reference: Reference) -> None:
    try:
        compare_outputs(run, case, done, reference)
    except Stop as stop:
        if case.memory.alias is None:
            raise
        reason = f"{stop.reason}; {_alias_hint(case)}"
        raise Stop(
            "candidate", Reason.ALIAS_SENSITIVE, reason, {**stop.details, "cause": stop.code}
        ) from stop


def _alias_hint(case: Case) -> str:
    output, source = case.memory.alias or ("", "")
    if case.required:
        return f"the workload says that {output} may lie in {source}"
    right = f"the baseline is right when {output} lies in {source}"
    return f"{right}; if no caller passes them so, say noalias = true of {output}"


def _code(case: Case, fault: Fault) -> Reason:
    if fault.kind == "misaligned":
        return Reason.NEEDS_ALIGNMENT
    return Reason.ALIAS_SENSITIVE if case.memory.alias is not None else FAULT_REASONS[fault.kind]


def _sentence(run: CheckState, case: Case, fault: Fault) -> str:
    line = f"; {run.candidate.label}:{fault.line}" if fault.line is not None else ""
    hint = f"; {_alias_hint(case)}" if case.memory.alias is not None else ""
    return f"{fault.message}; {case}{line}{hint}"


def _keep_condition(run: CheckState, fault: Fault) -> None:
    size = _SIZE.search(fault.message)
    expression = f"align({fault.buffer}) >= {size[1] if size else 16}"
    where = f"{run.candidate.label}:{fault.line}" if fault.line is not None else run.candidate.label
    run.conditions[expression] = f"{fault.message}; {where}; the baseline takes any address of its type"
