"""Profile: baseline and candidate timed in pairs on every profiled shape; what was timed is checked as well."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kernel_gate.built import Built
from kernel_gate.devices.base import Device, DeviceError
from kernel_gate.devices.timed import TimedDevice, Timer
from kernel_gate.launching import LaunchError
from kernel_gate.options import GateOptions
from kernel_gate.parts import Parts
from kernel_gate.reasons import Reason
from kernel_gate.stages.drawn_inputs import DrawnInputs
from kernel_gate.stages.near_callers import wrong_near_callers
from kernel_gate.stages.speed import combine, judge_speed
from kernel_gate.stages.timed_shape import Asked, TimedShape, time_shape
from kernel_gate.timing.compare import Comparison
from kernel_gate.timing.sampling import CANDIDATE, LaunchFailed
from kernel_gate.verdict import ShapeSpeed, SpeedState, Speedup, Stage, StageStatus
from kernel_gate.workload import Workload, WorkloadError

Progress = Callable[[str, float], None]


def profile(
    device: Device,
    baseline: Built,
    candidate: Built,
    workload: Workload,
    options: GateOptions,
    progress: Progress,
    *,
    inputs: DrawnInputs,
    counted: Mapping[str, Any] | None = None,
    timed: Callable[[], None] = lambda: None,
    same_expression: bool = False,
) -> tuple[Stage, Speedup | None]:
    """Time every profiled shape. Without a GPU nothing is timed.

    `counted` is the candidate's work on small shapes, from `counted_work`. `timed` is called when the last shape has
    been timed and nothing else is. `same_expression` is what algebra says of both programs.
    """
    asked = Asked(baseline, candidate, workload, options, inputs, counted, timed, Parts(), same_expression)
    stage, speedup = _profile(device, asked, progress)
    return stage.model_copy(
        update={"details": {**stage.details, "seconds_of": asked.parts.seconds()}}
    ), speedup


def _profile(device: Device, asked: Asked, progress: Progress) -> tuple[Stage, Speedup | None]:
    if not isinstance(device, TimedDevice):
        return _unavailable(Reason.NOT_PROFILED, "the emulated device gives no times"), None
    wanted, options = asked.workload.profile_dims, asked.options
    if not wanted:
        reason = "the workload has no profile_dims; add at least one shape to time"
        return _unavailable(Reason.NO_PROFILE_DIMS, reason), None
    shapes: list[ShapeSpeed] = []
    details: list[dict[str, Any]] = []
    with _timer(device, asked.parts) as timer:
        for number, dims in enumerate(wanted, 1):
            shown = ", ".join(f"{k} {v}" for k, v in dims.items())
            progress(shown, (number - 1) / len(wanted))
            try:
                timed = time_shape(device, timer, asked, dims, last=number == len(wanted))
            except (LaunchFailed, LaunchError, DeviceError, WorkloadError, MemoryError) as error:
                return _not_timed(error, shown, details), None
            details.append(timed.details)
            if timed.found is None or timed.wrong:
                return _wrong(timed, details), None
            shapes.append(_speed(dims, timed.found, SpeedState(timed.details["state"])))
    speedup = combine(shapes, options.guard)
    stage = judge_speed(speedup, options, details)
    if stage.status is not StageStatus.PASS:
        return stage, speedup
    return _beside_callers(device, asked, stage, details), speedup


def _beside_callers(device: TimedDevice, asked: Asked, stage: Stage, details: list[dict[str, Any]]) -> Stage:
    """The stage that passed, with the shape near the callers' on which both programs agree, or what is wrong there."""
    try:
        with asked.parts.part("near the callers' sizes"):
            wrong, dims = wrong_near_callers(device, asked)
    except LaunchFailed as error:
        return _fail(error.code, f"the candidate failed near the callers' sizes: {error}", details)
    if wrong:
        return _fail(Reason.WRONG_AFTER_TIMING, f"near the callers' sizes, {wrong}", details)
    return stage.model_copy(update={"details": {**stage.details, "agrees_near_callers_at": dims}})


@contextmanager
def _timer(device: TimedDevice, parts: Parts) -> Iterator[Timer]:
    with parts.part("timer"):
        timer = device.open_timer()
    try:
        yield timer
    finally:
        timer.close()


def _unavailable(code: Reason, reason: str, **details: Any) -> Stage:
    return Stage(name="profile", status=StageStatus.UNAVAILABLE, code=code, reason=reason, details=details)


def _fail(code: Reason, reason: str, details: list[dict[str, Any]]) -> Stage:
    return Stage(
        name="profile", status=StageStatus.FAIL, code=code, reason=reason, details={"shapes": details}
    )


def _wrong(timed: TimedShape, details: list[dict[str, Any]]) -> Stage:
    when = "after timing" if timed.found is not None else "before timing"
    return _fail(Reason.WRONG_AFTER_TIMING, f"{when}, {timed.wrong}", details)


def _not_timed(
    error: LaunchFailed | LaunchError | DeviceError | WorkloadError | MemoryError,
    shown: str,
    details: list[dict[str, Any]],
) -> Stage:
    """A shape that was not timed to the end: the candidate's fault, when it was the candidate's launch that failed."""
    if (
        isinstance(error, LaunchFailed)
        and error.program == CANDIDATE
        and error.code is not Reason.TIMING_FAILED
    ):
        return _fail(error.code, f"the candidate failed while it was timed at {shown}: {error}", details)
    code = Reason.TIMING_FAILED
    if isinstance(error, WorkloadError):
        code = Reason.WORKLOAD_DATA
    elif isinstance(error, MemoryError) or getattr(error, "code", None) is Reason.OUT_OF_MEMORY:
        code = Reason.OUT_OF_MEMORY
    return _unavailable(code, f"{shown} could not be timed: {error}", shapes=details)


def _speed(dims: Mapping[str, int], comparison: Comparison, state: SpeedState) -> ShapeSpeed:
    return ShapeSpeed(
        dims=dict(dims),
        baseline_us=comparison.baseline_us,
        candidate_us=comparison.candidate_us,
        median=comparison.ratio.median,
        low=comparison.ratio.low,
        high=comparison.ratio.high,
        noise=comparison.noise,
        state=state,
    )
