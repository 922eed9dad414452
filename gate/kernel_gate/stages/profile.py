"""Profile: baseline and candidate timed in pairs on every profiled shape; what was timed is checked afterwards."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from kernel_gate.cases import Case
from kernel_gate.compare import compare
from kernel_gate.devices.base import Device, DeviceError
from kernel_gate.devices.cuda import CudaDevice
from kernel_gate.dtypes import DTYPES, Array
from kernel_gate.execution import Execution
from kernel_gate.expressions import evaluate
from kernel_gate.inputs import make_inputs
from kernel_gate.launching import LaunchError, bind
from kernel_gate.options import GateOptions
from kernel_gate.stages.build import Built
from kernel_gate.timing import Comparison, compare_pairs
from kernel_gate.tolerance import derive
from kernel_gate.verdict import ShapeSpeed, SpeedState, Speedup, Stage, StageStatus
from kernel_gate.workload import Workload

_IMPLAUSIBLE = 0.95
"""Share of the time that writing the outputs beyond the L2 cache must take at the memory's peak rate."""


_QUEUE_US = 12.0
"""What queueing one launch may cost the host."""


class CudaPairTimer:
    """Times single launches of two programs between events, the L2 cache flushed before each sample."""

    def __init__(self, device: CudaDevice, executions: Sequence[Execution]) -> None:
        self._device = device
        self._launches = [execution.prepare() for execution in executions]
        self._start = device.driver.Event()
        self._stop = device.driver.Event()

    def time(self, which: int, batch: int) -> float:
        """Microseconds per launch."""
        launch = self._launches[which]
        self._device.flush_l2(_QUEUE_US * batch)
        self._start.record()
        for _ in range(batch):
            launch()
        self._stop.record()
        self._stop.synchronize()
        return float(self._start.time_till(self._stop)) * 1000.0 / batch

    def clock_mhz(self) -> float | None:
        """The SM clock now."""
        return self._device.clocks.sm_mhz()


def profile(
    device: Device,
    baseline: Built,
    candidate: Built,
    workload: Workload,
    options: GateOptions,
    progress: Callable[[str, float], None],
) -> tuple[Stage, Speedup | None]:
    """Time every profiled shape. Without a GPU nothing is timed."""
    if not isinstance(device, CudaDevice):
        return _unavailable("the emulated device gives no times"), None
    if not workload.profile_dims:
        return _unavailable("the workload has no profile_dims; add at least one shape to time"), None
    shapes: list[ShapeSpeed] = []
    details: list[dict[str, Any]] = []
    for number, dims in enumerate(workload.profile_dims):
        shown = ", ".join(f"{k} {v}" for k, v in dims.items())
        progress(shown, number / len(workload.profile_dims))
        try:
            comparison, wrong = _time_shape(device, baseline, candidate, workload, dims, options)
        except (LaunchError, DeviceError) as error:
            return _unavailable(f"{shown} could not be timed: {error}", shapes=details), None
        if wrong:
            reason = f"after timing, {wrong}"
            return Stage(
                name="profile", status=StageStatus.FAIL, reason=reason, details={"shapes": details}
            ), None
        comparison_details = _details(device, workload, dims, comparison)
        details.append(comparison_details)
        state = SpeedState.AMBIGUOUS if comparison_details["implausible"] else comparison.state
        shapes.append(
            ShapeSpeed(
                dims=dict(dims),
                baseline_us=comparison.baseline_us,
                candidate_us=comparison.candidate_us,
                median=comparison.ratio.median,
                low=comparison.ratio.low,
                high=comparison.ratio.high,
                noise=comparison.noise,
                state=state,
            )
        )
    speedup = combine(shapes, options.guard)
    return judge_speed(speedup, options, details), speedup


def _unavailable(reason: str, **details: Any) -> Stage:
    return Stage(name="profile", status=StageStatus.UNAVAILABLE, reason=reason, details=details)


def _details(
    device: CudaDevice, workload: Workload, dims: Mapping[str, int], comparison: Comparison
) -> dict[str, Any]:
    about = device.describe()
    written = _bytes(workload, dims, {"output", "inout"})
    floor_us = max(0, written - int(about["l2_bytes"])) / float(about["peak_bytes_per_second"]) * 1e6
    moved = written + _bytes(workload, dims, {"input", "inout"})
    return {
        "dims": dict(dims),
        "state": comparison.state.value,
        "reason": comparison.reason,
        "noise": comparison.noise,
        "blocks": comparison.blocks,
        "batch": comparison.batch,
        "clock_ratio": comparison.clock_ratio,
        "bytes_declared": moved,
        "bytes_per_second": moved / comparison.candidate_us * 1e6,
        "peak_bytes_per_second": about["peak_bytes_per_second"],
        "implausible": comparison.candidate_us < _IMPLAUSIBLE * floor_us,
        "samples": comparison.samples,
    }


def _bytes(workload: Workload, dims: Mapping[str, int], kinds: set[str]) -> int:
    return sum(
        math.prod(workload.extents(a, dims)) * DTYPES[a.dtype].itemsize
        for a in workload.args
        if a.kind in kinds
    )


def _time_shape(
    device: CudaDevice,
    baseline: Built,
    candidate: Built,
    workload: Workload,
    dims: Mapping[str, int],
    options: GateOptions,
) -> tuple[Comparison, str]:
    """The comparison, and what is wrong with the candidate's outputs after all these launches ("" when nothing is)."""
    case = Case(dims, options.seed + 9000)
    inputs = make_inputs(workload, case)
    executions: list[Execution] = []
    try:
        for built in (baseline, candidate):
            bound = bind(workload, built.program, dims)
            kernel = device.load(built.images[bound.unit])
            execution = Execution(device, kernel, built.images[bound.unit], workload, built.program, bound)
            executions.append(execution)
            done = execution.run(inputs, 0)
            if done.faults:
                raise LaunchError(f"{built.label}: {done.faults[0].message}")
        comparison = compare_pairs(
            CudaPairTimer(device, executions),
            seconds=options.profile_seconds,
            interval=options.interval,
            seed=options.seed,
        )
        return comparison, _wrong_after(executions, workload, case, inputs, candidate.label)
    finally:
        for execution in executions:
            execution.close()


def _wrong_after(
    executions: Sequence[Execution], workload: Workload, case: Case, inputs: Mapping[str, Array], label: str
) -> str:
    """Outputs of the timed launches, then of one more with fresh poison, against the baseline's."""
    in_place = any(a.kind == "inout" for a in workload.args)
    timed = [] if in_place else [(executions[0].outputs(), executions[1].outputs())]
    first, second = (e.run(inputs, 1) for e in executions)
    for run in (first, second):
        if run.faults:
            return f"{label}: {run.faults[0].message}; {case}"
    pairs: list[tuple[Mapping[str, Array], Mapping[str, Array]]] = [*timed, (first.outputs, second.outputs)]
    for expected, got in pairs:
        for name, values in got.items():
            argument = workload.argument(name)
            if argument is None:
                continue
            dtype = DTYPES[argument.dtype]
            want = dtype.wide(np.asarray(expected[name]))
            if wrong := compare(name, values, want, dtype, derive(workload, argument, case.dims, None)):
                return f"{wrong}; {case}; {label}"
    return ""


def combine(shapes: Sequence[ShapeSpeed], guard: str | None = None) -> Speedup:
    """One figure for all shapes: geometric means; one regression makes the whole slow, unless the guard excludes it."""

    def mean(values: list[float]) -> float:
        return math.exp(sum(map(math.log, values)) / len(values))

    states = {s.state for s in shapes if guard is None or evaluate(guard, s.dims)}
    excluded = [s for s in shapes if guard is not None and not evaluate(guard, s.dims)]
    if SpeedState.SLOW in states:
        state = SpeedState.SLOW
    elif SpeedState.AMBIGUOUS in states or not states:
        state = SpeedState.AMBIGUOUS
    else:
        state = SpeedState.FAST if SpeedState.FAST in states else SpeedState.SAME
    counted = [s for s in shapes if s not in excluded] or list(shapes)
    return Speedup(
        median=mean([s.median for s in counted]),
        low=mean([s.low for s in counted]),
        high=mean([s.high for s in counted]),
        state=state,
        by_shape=list(shapes),
    )


def _figure(shape: ShapeSpeed) -> str:
    dims = ", ".join(f"{k} {v}" for k, v in shape.dims.items())
    times = f"{shape.baseline_us:.1f} → {shape.candidate_us:.1f} µs"
    return f"{shape.median:.3f}× ({shape.low:.3f} … {shape.high:.3f}) at {dims}, {times}"


def judge_speed(speedup: Speedup, options: GateOptions, details: list[dict[str, Any]]) -> Stage:
    """What the figures mean for the candidate."""
    counted = [s for s in speedup.by_shape if options.guard is None or evaluate(options.guard, s.dims)]
    shapes = counted or speedup.by_shape
    worst = min(shapes, key=lambda s: s.median)
    best = max(shapes, key=lambda s: s.median)
    about = {"shapes": details}
    match speedup.state:
        case SpeedState.FAST:
            return Stage(
                name="profile", status=StageStatus.PASS, reason=f"faster: {_figure(best)}", details=about
            )
        case SpeedState.SLOW:
            slowest = min((s for s in shapes if s.state is SpeedState.SLOW), key=lambda s: s.median)
            return Stage(
                name="profile", status=StageStatus.FAIL, reason=f"slower: {_figure(slowest)}", details=about
            )
        case SpeedState.SAME if options.need == "not_slower":
            return Stage(
                name="profile", status=StageStatus.PASS, reason=f"as fast: {_figure(worst)}", details=about
            )
        case SpeedState.SAME:
            return Stage(
                name="profile", status=StageStatus.FAIL, reason=f"not faster: {_figure(best)}", details=about
            )
    if any(d["implausible"] for d in details):
        reason = f"implausible: faster than the memory can write the outputs: {_figure(best)}"
    else:
        unclear = next((d["reason"] for d in details if d["state"] == SpeedState.AMBIGUOUS), "")
        reason = f"ambiguous: {_figure(worst)}; {unclear}"
    return Stage(name="profile", status=StageStatus.UNAVAILABLE, reason=reason, details=about)
