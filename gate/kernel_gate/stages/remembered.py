"""Nothing may be remembered from launch to launch: not by address, not by data, not in the module's own variables."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from kernel_gate.cases import Case
from kernel_gate.deadline import TimeSpentError
from kernel_gate.devices.base import Fault
from kernel_gate.dtypes import Array
from kernel_gate.execution import Execution, Run
from kernel_gate.inputs import make_inputs, other_inputs
from kernel_gate.reasons import FAULT_REASONS, Reason
from kernel_gate.stages.check_state import CheckState, Stop, execution_of, hard_fault, launch, say
from kernel_gate.stages.judge_outputs import compare_outputs, first_difference, may_vary, unrepeatable
from kernel_gate.stages.reference import run_baseline
from kernel_gate.workload import Workload

_LONG = 0.25
"""The part of the time of a launch that did not end which makes another one slow: machines have other work, too."""


def require_nothing_remembered(
    run: CheckState, case: Case, execution: Execution, inputs: Mapping[str, Array], first: Run
) -> None:
    """Launches that a kernel with a memory gets wrong. Raises `Stop`; `first` is what the inputs gave at first."""
    _new_data_at_the_same_addresses(run, case, execution)
    again = _launched_again(run, case, execution, inputs, 1)
    _same_bits(run, case, first, again, "after other data, the first inputs gave")
    with execution_of(run, "candidate", case) as elsewhere:
        moved = launch(run, elsewhere, inputs, 0)
    _same_bits(run, case, first, moved, "at other addresses, the same inputs gave")


def _launched_again(
    run: CheckState, case: Case, execution: Execution, inputs: Mapping[str, Array], pattern: int
) -> Run:
    """What a later launch gives. Raises `TimeSpentError` for one that does not end where a first launch with the same
    inputs takes long, too: it keeps nothing.
    """
    done, seconds = _timed_launch(run, execution, inputs, pattern)
    fault = _timeout(done)
    if fault is not None:
        with execution_of(run, "candidate", case) as fresh:
            first, taken = _timed_launch(run, fresh, inputs, 1)
        if taken > seconds * _LONG or _timeout(first) is not None:
            raise TimeSpentError(fault.message)
    return done


def _timed_launch(
    run: CheckState, execution: Execution, inputs: Mapping[str, Array], pattern: int
) -> tuple[Run, float]:
    """What a launch gives, and its seconds."""
    started = time.monotonic()
    return launch(run, execution, inputs, pattern), time.monotonic() - started


def _timeout(done: Run) -> Fault | None:
    return next((f for f in done.faults if f.kind == "timeout"), None)


def with_other_data(case: Case) -> Case:
    """The case whose inputs every case is launched with as well, at the addresses of its own."""
    return replace(case, seed=case.seed + 5000)


def _new_data_at_the_same_addresses(run: CheckState, case: Case, execution: Execution) -> None:
    other = with_other_data(case)
    changed = make_inputs(run.workload, other)
    done = _launched_again(run, case, execution, changed, 0)
    _require_right(run, other, done, changed, "with new data at the same addresses")


def _like_inputs(workload: Workload, case: Case, inputs: Mapping[str, Array]) -> Iterator[dict[str, Array]]:
    """Inputs that a key of a part of them, or one that knows no order, takes for these: one element of each row is
    another, then two elements of each row have changed their places.
    """
    generator = np.random.default_rng([case.seed, 80])
    others = other_inputs(workload, case, inputs)
    free = [a.name for a in workload.args if a.name in inputs and not a.has_structure and inputs[a.name].size]
    for exchanged in (False, True):
        changed = {name: inputs[name].copy() for name in free}
        for name, values in changed.items():
            rows = values.reshape(-1, values.shape[-1] if values.ndim else 1)
            row = np.arange(len(rows))
            at, to = generator.integers(0, rows.shape[1], (2, len(rows)))
            if exchanged:
                rows[row, at], rows[row, to] = rows[row, to], rows[row, at]
            else:
                rows[row, at] = others[name].reshape(rows.shape)[row, at]
        yield {**inputs, **changed}


def _require_right(run: CheckState, case: Case, done: Run, inputs: Mapping[str, Array], what: str) -> None:
    if fault := hard_fault(done):
        about = {"fault": fault.kind, **fault.where()}
        raise Stop("candidate", FAULT_REASONS[fault.kind], say(fault, run.candidate.label, case), about)
    reference = run_baseline(run, case, inputs)
    try:
        compare_outputs(run, case, done, reference)
    except Stop as stop:
        reason = f"{what}: {stop.reason}"
        raise Stop(stop.at_fault, Reason.KEEPS_STATE, reason, {**stop.details, "cause": stop.code}) from stop


def require_no_variable(
    run: CheckState, case: Case, execution: Execution, inputs: Mapping[str, Array], first: Run
) -> None:
    """What a launch leaves in device globals must not matter to the next: random bytes take its place, and data come
    that are nearly the same. Raises `Stop`.

    Globals that a launch leaves as it found them (counters that are counted back to zero) stay.
    """
    changed = execution.overwrite_variables(case.seed)
    if not changed:
        return
    done = launch(run, execution, inputs, 0)
    if hard_fault(done) is None and (first_difference(first, done) is None or may_vary(run)):
        for like in _like_inputs(run.workload, case, inputs):
            launch(run, execution, inputs, 0)
            _require_right(
                run, case, launch(run, execution, like, 0), like, "after data that are nearly alike"
            )
        return
    with execution_of(run, "baseline", case) as theirs:
        before = launch(run, theirs, inputs, 0)
        if theirs.overwrite_variables(case.seed) and first_difference(before, launch(run, theirs, inputs, 0)):
            run.notes.append(f"both programs keep state in device globals ({', '.join(changed)})")
            return
    what = f"with other bytes in the device globals that it left ({', '.join(changed)}), the same inputs gave"
    _same_bits(run, case, first, done, what)


def _same_bits(run: CheckState, case: Case, first: Run, done: Run, what: str) -> None:
    if fault := hard_fault(done):
        reason = f"{what} a fault: {say(fault, run.candidate.label, case)}"
        raise Stop("candidate", Reason.KEEPS_STATE, reason, {"cause": FAULT_REASONS[fault.kind]})
    difference = first_difference(first, done)
    if difference is not None and not may_vary(run):
        raise Stop("candidate", Reason.KEEPS_STATE, unrepeatable(what, difference, run, case))
