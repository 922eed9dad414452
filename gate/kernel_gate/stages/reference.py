"""What a case's outputs are compared with: the oracle's or the baseline's, and how well the baseline itself does."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from kernel_gate.cases import Case
from kernel_gate.compare import compare, measure, truncated, unwritten
from kernel_gate.deadline import TimeSpentError, ends_within, seconds_left
from kernel_gate.devices.base import DeviceError
from kernel_gate.dtypes import DTYPES, Array, DType
from kernel_gate.execution import Run
from kernel_gate.inputs import perturbed
from kernel_gate.launching import LaunchError
from kernel_gate.reasons import FAULT_REASONS, Reason
from kernel_gate.stages.check_state import (
    CheckState,
    Dropped,
    Stop,
    argument_of,
    execution_of,
    hard_fault,
    launch,
    launch_baseline,
    rehearsal_of,
    say,
    stop_for_the_environment,
    unusable_baseline,
)
from kernel_gate.tolerance import Allowed, Errors

_MAY_BREAK = re.compile(
    r"\b(?:ld|st)\.\S*\.v[248]\b|\bwmma\.(?:load|store)\b|\bldmatrix\b|\b__assertfail\b|\btrap;"
)
"""Vectors and matrices, which must be aligned, and assertions: what a shape that no caller comes with makes fail."""
_COUNTS = re.compile(r"\bcvt\S*\.[su](?:32|64)\.f(?:32|64)\b")
"""What makes a whole number of a float, as the place of a sample: at a scale of zero it is any."""
_SCALAR_SECONDS = 3.0
"""For the rehearsal of a scalar."""
_BREAKS = frozenset({"misaligned", "out_of_bounds", "trap"})
_FEW, _DRAWS = 256, 5
_UNITS = (4, 5)
"""Further than the neighbours of constants that cases are drawn with."""
_BASELINE_GROSS = 2e-2
"""Relative error from which a baseline does not compute what its oracle says."""


@dataclass(slots=True)
class Reference:
    """What a case's outputs are compared with."""

    inputs: Mapping[str, Array]
    expected: Mapping[str, Array]
    """The oracle's float64, or the baseline's own outputs as they are stored."""
    errors: Mapping[str, Errors | None]
    """The baseline's own, where there is an oracle."""
    truncates: frozenset[str] = frozenset()
    """Outputs that the baseline itself cuts off instead of rounding to nearest."""
    reads_unwritten: frozenset[str] = frozenset()
    """Buffers that the baseline reads before anything has written them."""
    condition: Mapping[str, Errors] | None = None
    """What the last bit of the inputs does to the baseline's outputs; measured when it is needed."""
    done: Run | None = None
    """The baseline's run."""


def run_baseline(
    run: CheckState, case: Case, inputs: Mapping[str, Array], done: Run | None = None
) -> Reference:
    """What is expected, and how well the baseline itself does. Raises `Stop` or `Dropped` for one that does not.

    `done` is what it did, where it has been run.
    """
    unusable = partial(unusable_baseline, case)

    may_break = (case.origin == "hidden" and run.baseline.uses(_MAY_BREAK)) or (
        case.scalars and run.baseline.uses(_COUNTS)
    )
    if may_break and run.device.kind != "emulated":
        _require_rehearsed(run, case, inputs)
    try:
        execution = execution_of(run, "baseline", case)
    except (LaunchError, DeviceError) as error:
        stop_for_the_environment(error, case)
        raise unusable(error.code, str(error)) from error
    with execution:
        done = launch_baseline(run, case, execution, inputs, 0, done=done)
        doubtful = any(
            DTYPES[argument_of(run.workload, n).dtype].poisoned(o, 0).any() for n, o in done.outputs.items()
        )
        again = doubtful and hard_fault(done) is None
        other = launch_baseline(run, case, execution, inputs, 1) if again else None
    fault = hard_fault(done)
    if fault is not None and fault.kind == "unsupported":
        raise Stop(
            "environment",
            Reason.UNSUPPORTED_INSTRUCTION,
            f"the {run.device.kind} device cannot run the baseline: {say(fault, run.baseline.label, case)}",
        )
    if fault is not None and done.result.device_lost and not case.required:
        message = say(fault, run.baseline.label, case)
        reason = f"the baseline breaks the device on a shape that the workload does not name: {message}"
        raise Stop("baseline", Reason.BASELINE_FAILS_CHECK, reason, {"cause": FAULT_REASONS[fault.kind]})
    if fault is not None:
        about = {"fault": fault.kind, **fault.where()}
        raise unusable(FAULT_REASONS[fault.kind], say(fault, run.baseline.label, case), about)
    raced = next((f for f in done.faults if f.kind == "race"), None)
    if raced is not None and case.scalars:  # a number that nobody says callers pass, such as no heads
        raise unusable(FAULT_REASONS["race"], say(raced, run.baseline.label, case))
    oracle = run.oracle.expected(case, inputs) if run.oracle is not None else None
    expected: dict[str, Array] = {}
    errors: dict[str, Errors | None] = {}
    truncates = set()
    for name, got in done.outputs.items():
        argument = argument_of(run.workload, name)
        dtype = DTYPES[argument.dtype]
        missed = None
        if other is not None and argument.kind == "output":
            missed = unwritten(name, got, other.outputs[name], dtype, got)
        if missed is not None:
            raise unusable(
                missed.code, f"{missed.output}{list(missed.index)} is not written; {case}", missed.about()
            )
        if oracle is None:
            expected[name], errors[name] = got, None
            continue
        expected[name] = _as_the_type_overflows(oracle[name], got, dtype)
        tolerance = run.workload.tolerance.relative or _BASELINE_GROSS + 2 * dtype.epsilon
        if wrong := compare(name, got, expected[name], dtype, Allowed(tolerance, tolerance, "")):
            raise unusable(wrong.code, f"{wrong}; {case}", wrong.about())
        errors[name] = measure(got, expected[name], dtype) if dtype.is_float else Errors(0.0, 0.0)
        if truncated(got, expected[name], dtype):
            truncates.add(name)
    unwritten_reads = (f.buffer for f in done.faults if f.kind == "uninitialised" and f.buffer is not None)
    return Reference(inputs, expected, errors, frozenset(truncates), frozenset(unwritten_reads), done=done)


def _require_rehearsed(run: CheckState, case: Case, inputs: Mapping[str, Array]) -> None:
    """Raise `Dropped` for a shape or a scalar that the baseline does not take: on the GPU that would cost its context.

    So it is for a scalar where the rehearsal takes too long, and for all after it.
    """
    seconds = math.inf if not case.scalars else 0.0 if run.rehearses_too_long else _SCALAR_SECONDS
    try:
        with ends_within(seconds), rehearsal_of(run, "baseline", case) as execution:
            fault = hard_fault(launch(run, execution, inputs, 0))
    except (LaunchError, DeviceError) as error:
        raise Dropped(error.code, str(error)) from error
    except TimeSpentError as error:
        if not case.scalars or not seconds_left():
            raise
        run.rehearses_too_long = True
        reason = f"whether the baseline takes it does not show within {_SCALAR_SECONDS:g} s without a GPU"
        raise Dropped(Reason.CASE_TIME_SPENT, f"{reason}; {case}") from error
    if fault is not None and fault.kind in _BREAKS:
        raise Dropped(
            FAULT_REASONS[fault.kind],
            f"the baseline does not take it: {say(fault, run.baseline.label, case)}",
        )


def _as_the_type_overflows(exact: Array, got: Array, dtype: DType) -> Array:
    """What is expected beyond the largest value of a type narrower than float32: what the baseline gave.

    Conversions to these types exist with and without saturation; both are right, and a change from one to the other
    is a change of what the kernel computes.
    """
    if not dtype.is_float or dtype.itemsize > 2:
        return exact
    beyond = np.abs(exact) > dtype.largest
    if not beyond.any():
        return exact
    wide = dtype.wide(got)
    saturated = beyond & (wide == np.copysign(dtype.largest, exact))
    overflowed = beyond & ~np.isfinite(wide)
    return np.where(saturated | overflowed, wide, exact)


def condition_of(run: CheckState, case: Case, reference: Reference) -> Mapping[str, Errors]:
    """What one unit in the last place of the inputs does to each of the baseline's outputs, in any order of blocks.

    Two moves in one direction are compared, the second a unit further: where a value lies at a threshold or beside it,
    or ties with another, both are on one side of it. That the output jumps there excuses nothing. A few elements may
    move little by chance: they are asked several times.
    """
    if reference.condition is None:
        few = any(got.size < _FEW for got in reference.expected.values())
        condition: dict[str, Errors] = {}
        for draw in range(_DRAWS if few else 1):
            with execution_of(run, "baseline", case) as execution:
                near, far = (
                    launch_baseline(
                        run,
                        case,
                        execution,
                        perturbed(run.workload, case, reference.inputs, draw, units),
                        0,
                        draw or None,
                    )
                    for units in _UNITS
                )
            for name, got in far.outputs.items():
                dtype = DTYPES[argument_of(run.workload, name).dtype]
                condition[name] = measure(got, near.outputs[name], dtype).larger(condition.get(name))
        reference.condition = condition
    return reference.condition
