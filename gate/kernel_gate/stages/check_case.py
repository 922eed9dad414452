"""One case of the check: the candidate's launches, what is expected of them, and what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from kernel_gate.build.unit import Unit
from kernel_gate.cases import Case
from kernel_gate.compare import Mismatch, compare, less_precise, notices_constants, unwritten
from kernel_gate.devices.base import Device, DeviceError, Fault, LoadedKernel
from kernel_gate.dtypes import DTYPES, Array
from kernel_gate.execution import SANITIZER_KINDS, Execution, Run
from kernel_gate.inputs import make_inputs, perturbed
from kernel_gate.launching import LaunchError, bind
from kernel_gate.oracle import OracleProcess
from kernel_gate.stages.build import Built
from kernel_gate.tolerance import Allowed, Errors, derive, measure
from kernel_gate.workload import Workload

_BASELINE_GROSS = 2e-2
"""Relative error from which a baseline does not compute what its oracle says."""
_FLOAT_ATOMICS = re.compile(r"\b(?:atom|red)\.[\w.]*\.(?:f16x2|f16|bf16|f32|f64)\b")

AtFault = Literal["none", "candidate", "baseline", "workload", "environment"]


class Stop(Exception):  # noqa: N818
    """Ends the check with a reason."""

    def __init__(self, at_fault: AtFault, reason: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(reason)
        self.at_fault: AtFault = at_fault
        self.reason = reason
        self.details = dict(details or {})


class Dropped(Exception):  # noqa: N818
    """A case that says nothing about the candidate, because the baseline does not pass it."""


@dataclass(slots=True)
class _Reference:
    """What a case's outputs are compared with."""

    inputs: Mapping[str, Array]
    expected: Mapping[str, Array]
    errors: Mapping[str, Errors | None]
    """The baseline's own, where there is an oracle."""
    condition: Mapping[str, Errors] | None = None
    """What the last bit of the inputs does to the baseline's outputs; measured when it is needed."""


@dataclass(slots=True)
class CheckState:
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


def _execution(run: CheckState, who: Literal["baseline", "candidate"], case: Case) -> Execution:
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


def _launch(run: CheckState, execution: Execution, inputs: Mapping[str, Array], pattern: int) -> Run:
    run.launches += 1
    return execution.run(inputs, pattern)


def _promise_hint(case: Case) -> str:
    """What to do when no caller comes with a hidden shape."""
    if case.origin != "hidden":
        return ""
    return "; if no caller comes with such a shape, say so with promises in the workload"


def _say(fault: Fault, label: str, case: Case) -> str:
    """A fault as one line for people."""
    line = f"; {label}:{fault.line}" if fault.line is not None else ""
    return f"{fault.message}; {case}{line}{_promise_hint(case)}"


def _hard(run: Run) -> Fault | None:
    return next((f for f in run.faults if f.kind not in SANITIZER_KINDS), None)


def check_case(run: CheckState, case: Case, *, again: bool) -> None:
    """One case. Raises `Stop` or `Dropped`.

    On named shapes the candidate goes first, so that nothing of the baseline's is left to be found; on the others the
    baseline does, because a shape that it does not take is not the candidate's to take.
    """
    inputs = make_inputs(run.workload, case)
    label = run.candidate.label
    reference = None if case.required else _run_baseline(run, case, inputs)
    try:
        execution = _execution(run, "candidate", case)
    except (LaunchError, DeviceError) as error:
        if reference is None:
            _run_baseline(run, case, inputs)
        raise Stop("candidate", f"{error}; {case}{_promise_hint(case)}") from error
    with execution:
        first = _launch(run, execution, inputs, 0)
        fault = _hard(first)
        if fault is not None and fault.kind == "unsupported":
            said = _say(fault, label, case)
            raise Stop("environment", f"the {run.device.kind} device cannot run this kernel: {said}")
        run.findings += [(f, str(case)) for f in first.faults if f.kind in SANITIZER_KINDS]
        if reference is None and not first.result.device_lost:
            reference = _run_baseline(run, case, inputs)
        if fault is not None or reference is None:
            kind, line, said = "launch", None, "the device was lost"
            if fault is not None:
                kind, line, said = fault.kind, fault.line, _say(fault, label, case)
            raise Stop("candidate", said, {"fault": kind, "line": line})
        _compare_outputs(run, case, first, reference)
        second = _launch(run, execution, inputs, 1)
        _repeats(run, case, first, second, reference)
        if again:
            _new_data_same_address(run, case, execution, inputs, first)
    run.compared += 1


def _run_baseline(run: CheckState, case: Case, inputs: Mapping[str, Array]) -> _Reference:
    """What is expected, and how well the baseline itself does. Raises `Stop` or `Dropped` for one that does not."""

    def unusable(why: str) -> Stop | Dropped:
        if case.required:
            return Stop("baseline", f"the baseline does not pass its own check: {why}")
        return Dropped(f"the baseline does not pass it: {why}")

    try:
        execution = _execution(run, "baseline", case)
    except (LaunchError, DeviceError) as error:
        raise unusable(str(error)) from error
    with execution:
        done = _launch(run, execution, inputs, 0)
    fault = _hard(done)
    if fault is not None and fault.kind == "unsupported":
        raise Stop(
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
    return _Reference(inputs, expected, errors)


def _argument_dtype(workload: Workload, name: str) -> str:
    argument = workload.argument(name)
    if argument is None:
        raise KeyError(name)
    return argument.dtype


def _wrong(run: CheckState, case: Case, mismatch: Mismatch) -> Stop:
    details = {
        "output": mismatch.output,
        "index": mismatch.index,
        "wrong": mismatch.count,
        "elements": mismatch.total,
    }
    return Stop("candidate", f"{mismatch}; {case}; {run.candidate.label}{_promise_hint(case)}", details)


def _condition(run: CheckState, case: Case, reference: _Reference) -> Mapping[str, Errors]:
    """What one unit in the last place of the inputs does to each of the baseline's outputs."""
    if reference.condition is None:
        with _execution(run, "baseline", case) as execution:
            moved = _launch(run, execution, perturbed(run.workload, case, reference.inputs), 0)
        reference.condition = {
            name: measure(
                DTYPES[_argument_dtype(run.workload, name)].wide(moved.outputs[name]),
                reference.expected[name],
            )
            for name in moved.outputs
        }
    return reference.condition


def _compare_outputs(run: CheckState, case: Case, done: Run, reference: _Reference) -> None:
    """Raise `Stop` at the first wrong element."""
    for name, got in done.outputs.items():
        argument = run.workload.argument(name)
        if argument is None:
            raise KeyError(name)
        dtype = DTYPES[argument.dtype]
        want, own = reference.expected[name], reference.errors[name]
        if name in done.poison and (missed := unwritten(name, got, done.poison[name], dtype, want)):
            raise _wrong(run, case, missed)
        allowed = derive(run.workload, argument, case.dims, own)
        wrong = compare(name, got, want, dtype, allowed)
        imprecise = less_precise(name, got, want, dtype, allowed)
        if dtype.is_float and (wrong or imprecise):
            allowed = derive(
                run.workload, argument, case.dims, own, _condition(run, case, reference).get(name)
            )
            wrong = compare(name, got, want, dtype, allowed)
            imprecise = less_precise(name, got, want, dtype, allowed)
        run.tolerances.setdefault(name, allowed.why)
        if wrong:
            raise _wrong(run, case, wrong)
        if imprecise:
            raise Stop("candidate", f"{imprecise} ({allowed.why}); {case}; {run.candidate.label}")
        if notices_constants(want, dtype, allowed):
            run.noticed.add(name)
        if dtype.is_float:
            mine = measure(dtype.wide(got), want).worst
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


def _repeats(run: CheckState, case: Case, first: Run, second: Run, reference: _Reference) -> None:
    """The same inputs must give the same bytes; float atomics may add in another order, within the tolerance."""
    if fault := _hard(second):
        raise Stop("candidate", f"only on a repeated launch: {_say(fault, run.candidate.label, case)}")
    difference = _first_difference(first, second)
    if difference is None:
        return
    if any(_FLOAT_ATOMICS.search(image.ptx) for image in run.candidate.images.values()):
        _compare_outputs(run, case, second, reference)
        run.notes.append("outputs differ from launch to launch within the tolerance, as float atomics may")
        return
    raise Stop("candidate", _unrepeatable("the same inputs gave", difference, run, case))


def _unrepeatable(
    what: str, difference: tuple[str, tuple[int, ...], Array, Array], run: CheckState, case: Case
) -> str:
    name, index, before, after = difference
    dtype = DTYPES[_argument_dtype(run.workload, name)]
    a, b = dtype.wide(before)[index], dtype.wide(after)[index]
    place = f"{name}[{', '.join(map(str, index))}]"
    return f"{what} {place} = {a:.7g} and then {b:.7g}; {case}; {run.candidate.label}"


def _new_data_same_address(
    run: CheckState, case: Case, execution: Execution, inputs: Mapping[str, Array], first: Run
) -> None:
    """Other inputs at the same addresses, then the first ones again: nothing may be remembered."""
    other = Case(case.dims, case.seed + 5000, case.variation, case.origin)
    changed = make_inputs(run.workload, other)
    done = _launch(run, execution, changed, 0)
    if fault := _hard(done):
        raise Stop("candidate", _say(fault, run.candidate.label, other))
    reference = _run_baseline(run, other, changed)
    try:
        _compare_outputs(run, other, done, reference)
    except Stop as stop:
        raise Stop(
            stop.at_fault, f"with new data at the same addresses: {stop.reason}", stop.details
        ) from stop
    back = _launch(run, execution, inputs, 1)
    difference = _first_difference(first, back)
    if difference is not None and not any(
        _FLOAT_ATOMICS.search(i.ptx) for i in run.candidate.images.values()
    ):
        raise Stop(
            "candidate", _unrepeatable("after other data, the first inputs gave", difference, run, case)
        )
