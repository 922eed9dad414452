"""Check: the candidate's outputs on every case, element by element, against the oracle and the baseline's own error."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from kernel_gate.build.unit import Unit
from kernel_gate.cases import Case, elements
from kernel_gate.compare import Mismatch, compare, less_precise, notices_constants, unwritten
from kernel_gate.devices.base import Device, DeviceError, Fault, LoadedKernel
from kernel_gate.dtypes import DTYPES, Array
from kernel_gate.execution import SANITIZER_KINDS, Execution, Run
from kernel_gate.inputs import make_inputs
from kernel_gate.launching import LaunchError, bind
from kernel_gate.oracle import OracleProcess
from kernel_gate.stages.build import Built
from kernel_gate.tolerance import Allowed, Errors, derive, measure
from kernel_gate.verdict import Stage, StageStatus
from kernel_gate.workload import Workload

_BASELINE_GROSS = 2e-2
"""Relative error from which a baseline does not compute what its oracle says."""
_FLOAT_ATOMICS = re.compile(r"\b(?:atom|red)\.[\w.]*\.(?:f16x2|f16|bf16|f32|f64)\b")

AtFault = Literal["none", "candidate", "baseline", "workload", "environment"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What the check found, and whose fault it is."""

    stage: Stage
    at_fault: AtFault = "none"
    candidate_findings: tuple[tuple[Fault, str], ...] = ()
    """What the device's detectors found in the candidate, with the case; for the sanitize stage."""
    launches: int = 0


class _Stop(Exception):  # noqa: N818
    """Ends the check with a reason."""

    def __init__(self, at_fault: AtFault, reason: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(reason)
        self.at_fault: AtFault = at_fault
        self.reason = reason
        self.details = dict(details or {})


class _Dropped(Exception):  # noqa: N818
    """A case that says nothing about the candidate, because the baseline does not pass it."""


@dataclass(slots=True)
class _Check:
    """One check under way."""

    device: Device
    baseline: Built
    candidate: Built
    workload: Workload
    oracle: OracleProcess | None
    kernels: dict[tuple[str, Unit], LoadedKernel] = field(default_factory=dict)
    noticed: set[str] = field(default_factory=set)
    """Outputs for which some case would notice a constant."""
    findings: list[tuple[Fault, str]] = field(default_factory=list)
    tolerances: dict[str, str] = field(default_factory=dict)
    errors: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Output → worst relative error of the candidate and of the baseline."""
    dropped: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    compared: int = 0
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
    run = _Check(device, baseline, candidate, workload, oracle)
    started = time.monotonic()
    unreached: list[Case] = []
    last = (0.0, 0)
    for number, case in enumerate(cases):
        size = elements(workload, case.dims)
        spent = time.monotonic() - started
        expected = last[0] * size / last[1] if last[1] else 0.0
        if spent + expected > seconds:
            unreached.append(case)
            continue
        progress(str(case), number / len(cases))
        before = time.monotonic()
        try:
            _check_case(run, case, again=number == 0)
        except _Dropped as dropped:
            run.dropped.append(f"{case}: {dropped}")
        except _Stop as stop:
            return _stopped(run, stop, case)
        last = (time.monotonic() - before, max(1, size))
    return _finished(run, cases, unreached, seconds)


def _details(run: _Check) -> dict[str, Any]:
    return {
        "device": run.device.kind,
        "cases": run.compared,
        "launches": run.launches,
        "tolerances": run.tolerances,
        "errors": {name: {"candidate": c, "baseline": b} for name, (c, b) in run.errors.items()},
        "dropped": run.dropped,
        "notes": list(dict.fromkeys(run.notes)),
    }


def _stopped(run: _Check, stop: _Stop, case: Case) -> CheckResult:
    status = StageStatus.FAIL if stop.at_fault == "candidate" else StageStatus.UNAVAILABLE
    about = {"case": str(case), "dims": dict(case.dims), "seed": case.seed, "inputs": str(case.variation)}
    stage = Stage(
        name="check", status=status, reason=stop.reason, details={**_details(run), **about, **stop.details}
    )
    return CheckResult(stage, stop.at_fault, tuple(run.findings), run.launches)


def _finished(run: _Check, cases: Sequence[Case], unreached: list[Case], seconds: float) -> CheckResult:
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


def _execution(run: _Check, who: Literal["baseline", "candidate"], case: Case) -> Execution:
    """The program's kernel for this shape, with its own buffers. Raises `LaunchError` and `DeviceError`."""
    built = run.baseline if who == "baseline" else run.candidate
    bound = bind(run.workload, built.program, case.dims)
    image = built.images.get(bound.unit)
    if image is None:
        raise LaunchError(f"{built.label} was not built for {case}")
    key = (who, bound.unit)
    if key not in run.kernels:
        run.kernels[key] = run.device.load(image)
    return Execution(run.device, run.kernels[key], image, run.workload, built.program, bound)


def _launch(run: _Check, execution: Execution, inputs: Mapping[str, Array], pattern: int) -> Run:
    run.launches += 1
    return execution.run(inputs, pattern)


def _say(fault: Fault, label: str, case: Case) -> str:
    """A fault as one line for people."""
    line = f"; {label}:{fault.line}" if fault.line is not None else ""
    return f"{fault.message}; {case}{line}"


def _hard(run: Run) -> Fault | None:
    return next((f for f in run.faults if f.kind not in SANITIZER_KINDS), None)


def _check_case(run: _Check, case: Case, *, again: bool) -> None:
    """One case. Raises `_Stop` or `_Dropped`."""
    inputs = make_inputs(run.workload, case)
    label = run.candidate.label
    try:
        execution = _execution(run, "candidate", case)
    except (LaunchError, DeviceError) as error:
        _run_baseline(run, case, inputs)
        raise _Stop("candidate", f"{error}; {case}") from error
    with execution:
        first = _launch(run, execution, inputs, 0)
        fault = _hard(first)
        if fault is not None and fault.kind == "unsupported":
            raise _Stop(
                "environment",
                f"the {run.device.kind} device cannot run this kernel: {_say(fault, label, case)}",
            )
        run.findings += [(f, str(case)) for f in first.faults if f.kind in SANITIZER_KINDS]
        expected, baseline_errors = _run_baseline(run, case, inputs)
        if fault is not None:
            raise _Stop("candidate", _say(fault, label, case), {"fault": fault.kind, "line": fault.line})
        _compare_outputs(run, case, first, expected, baseline_errors)
        second = _launch(run, execution, inputs, 1)
        _repeats(run, case, first, second, expected, baseline_errors)
        if again:
            _new_data_same_address(run, case, execution, inputs, first)
    run.compared += 1


def _run_baseline(
    run: _Check, case: Case, inputs: Mapping[str, Array]
) -> tuple[dict[str, Array], dict[str, Errors | None]]:
    """Expected outputs, and the baseline's own errors against them where there is an oracle."""

    def unusable(why: str) -> _Stop | _Dropped:
        if case.required:
            return _Stop("baseline", f"the baseline does not pass its own check: {why}")
        return _Dropped(f"the baseline does not pass it: {why}")

    try:
        execution = _execution(run, "baseline", case)
    except (LaunchError, DeviceError) as error:
        raise unusable(str(error)) from error
    with execution:
        done = _launch(run, execution, inputs, 0)
    fault = _hard(done)
    if fault is not None and fault.kind == "unsupported":
        raise _Stop(
            "environment",
            f"the {run.device.kind} device cannot run the baseline: {_say(fault, run.baseline.label, case)}",
        )
    if fault is not None:
        raise unusable(_say(fault, run.baseline.label, case))
    oracle = run.oracle.expected(case, inputs) if run.oracle is not None else None
    expected: dict[str, Array] = {}
    errors: dict[str, Errors | None] = {}
    for name, got in done.outputs.items():
        dtype = DTYPES[_argument_dtype(run.workload, name)]
        wide = dtype.wide(got)
        if name in done.poison and (missed := unwritten(name, got, done.poison[name], dtype, wide)):
            raise unusable(f"{missed.output}{list(missed.index)} is not written; {case}")
        if oracle is None:
            expected[name], errors[name] = wide, None
            continue
        expected[name] = oracle[name]
        told = run.workload.tolerance.relative or _BASELINE_GROSS
        if wrong := compare(name, got, oracle[name], dtype, Allowed(told, told, "")):
            raise unusable(f"{wrong}; {case}")
        errors[name] = measure(wide, oracle[name]) if dtype.is_float else Errors(0.0, 0.0)
    return expected, errors


def _argument_dtype(workload: Workload, name: str) -> str:
    argument = workload.argument(name)
    if argument is None:
        raise KeyError(name)
    return argument.dtype


def _wrong(run: _Check, case: Case, mismatch: Mismatch) -> _Stop:
    details = {
        "output": mismatch.output,
        "index": mismatch.index,
        "wrong": mismatch.count,
        "elements": mismatch.total,
    }
    hint = ""
    if case.origin == "hidden":
        hint = "; if no caller comes with such a shape, say so with promises in the workload"
    return _Stop("candidate", f"{mismatch}; {case}; {run.candidate.label}{hint}", details)


def _compare_outputs(
    run: _Check, case: Case, done: Run, expected: Mapping[str, Array], baseline: Mapping[str, Errors | None]
) -> None:
    """Raise `_Stop` at the first wrong element."""
    for name, got in done.outputs.items():
        argument = run.workload.argument(name)
        if argument is None:
            raise KeyError(name)
        dtype = DTYPES[argument.dtype]
        allowed = derive(run.workload, argument, case.dims, baseline[name])
        run.tolerances.setdefault(name, allowed.why)
        want = expected[name]
        if name in done.poison and (missed := unwritten(name, got, done.poison[name], dtype, want)):
            raise _wrong(run, case, missed)
        if wrong := compare(name, got, want, dtype, allowed):
            raise _wrong(run, case, wrong)
        if said := less_precise(name, got, want, dtype, allowed):
            raise _Stop("candidate", f"{said} ({allowed.why}); {case}; {run.candidate.label}")
        if notices_constants(want, dtype, allowed):
            run.noticed.add(name)
        if dtype.is_float:
            mine, own = measure(dtype.wide(got), want).worst, baseline[name]
            worst, base = run.errors.get(name, (0.0, 0.0))
            run.errors[name] = (max(worst, mine), max(base, own.worst if own else 0.0))


def _first_difference(first: Run, second: Run) -> tuple[str, tuple[int, ...], Array, Array] | None:
    for name, got in first.outputs.items():
        width = f"u{got.dtype.itemsize}"
        differs = got.view(width) != second.outputs[name].view(width)
        if differs.any():
            index = tuple(int(i) for i in np.unravel_index(int(np.argmax(differs)), got.shape))
            return name, index, got, second.outputs[name]
    return None


def _repeats(
    run: _Check,
    case: Case,
    first: Run,
    second: Run,
    expected: Mapping[str, Array],
    baseline: Mapping[str, Errors | None],
) -> None:
    """The same inputs must give the same bytes; float atomics may add in another order, within the tolerance."""
    if fault := _hard(second):
        raise _Stop("candidate", f"only on a repeated launch: {_say(fault, run.candidate.label, case)}")
    difference = _first_difference(first, second)
    if difference is None:
        return
    if any(_FLOAT_ATOMICS.search(image.ptx) for image in run.candidate.images.values()):
        _compare_outputs(run, case, second, expected, baseline)
        run.notes.append("outputs differ from launch to launch within the tolerance, as float atomics may")
        return
    raise _Stop("candidate", _unrepeatable("the same inputs gave", difference, run, case))


def _unrepeatable(
    what: str, difference: tuple[str, tuple[int, ...], Array, Array], run: _Check, case: Case
) -> str:
    name, index, before, after = difference
    dtype = DTYPES[_argument_dtype(run.workload, name)]
    a, b = dtype.wide(before)[index], dtype.wide(after)[index]
    place = f"{name}[{', '.join(map(str, index))}]"
    return f"{what} {place} = {a:.7g} and then {b:.7g}; {case}; {run.candidate.label}"


def _new_data_same_address(
    run: _Check, case: Case, execution: Execution, inputs: Mapping[str, Array], first: Run
) -> None:
    """Other inputs at the same addresses, then the first ones again: nothing may be remembered."""
    other = Case(case.dims, case.seed + 5000, case.variation, case.origin)
    changed = make_inputs(run.workload, other)
    done = _launch(run, execution, changed, 0)
    if fault := _hard(done):
        raise _Stop("candidate", _say(fault, run.candidate.label, other))
    expected, baseline = _run_baseline(run, other, changed)
    try:
        _compare_outputs(run, other, done, expected, baseline)
    except _Stop as stop:
        raise _Stop(
            stop.at_fault, f"with new data at the same addresses: {stop.reason}", stop.details
        ) from stop
    back = _launch(run, execution, inputs, 1)
    difference = _first_difference(first, back)
    if difference is not None and not any(
        _FLOAT_ATOMICS.search(i.ptx) for i in run.candidate.images.values()
    ):
        raise _Stop(
            "candidate", _unrepeatable("after other data, the first inputs gave", difference, run, case)
        )
