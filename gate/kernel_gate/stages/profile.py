"""Profile: baseline and candidate timed in pairs on every profiled shape; what was timed is checked as well."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from kernel_gate.built import Built
from kernel_gate.devices.base import Device, DeviceError
from kernel_gate.devices.timed import TimedDevice, Timer
from kernel_gate.launching import LaunchError
from kernel_gate.options import GateOptions
from kernel_gate.parts import Parts
from kernel_gate.reasons import Reason
from kernel_gate.stages.after_timing import wrong_after_timing
from kernel_gate.stages.counters import counters
from kernel_gate.stages.drawn_inputs import DrawnInputs, timed_case
from kernel_gate.stages.roofline import Work, work_of
from kernel_gate.stages.speed import combine, judge_speed
from kernel_gate.stages.timed_programs import TimedPrograms
from kernel_gate.timing.compare import Comparison, compare_pairs
from kernel_gate.timing.cuda_sampler import Cache, CudaSampler
from kernel_gate.timing.sampling import CANDIDATE, PROGRAMS, LaunchFailed
from kernel_gate.verdict import ShapeSpeed, SpeedState, Speedup, Stage, StageStatus
from kernel_gate.workload import Workload

_HINTS = re.compile(r"\bcreatepolicy\b|evict_last|L2::cache_hint|\bapplypriority\b")


def profile(
    device: Device,
    baseline: Built,
    candidate: Built,
    workload: Workload,
    options: GateOptions,
    progress: Callable[[str, float], None],
    *,
    inputs: DrawnInputs,
    counted: Mapping[str, Any] | None = None,
    timed: Callable[[], None] = lambda: None,
) -> tuple[Stage, Speedup | None]:
    """Time every profiled shape. Without a GPU nothing is timed.

    `counted` is the candidate's work on small shapes, from `counted_work`. `timed` is called when the last shape has
    been timed and nothing else is.
    """
    parts = Parts()
    stage, speedup = _profile(
        device, baseline, candidate, workload, options, progress, inputs, counted, timed, parts
    )
    return stage.model_copy(update={"details": {**stage.details, "seconds_of": parts.seconds()}}), speedup


def _profile(
    device: Device,
    baseline: Built,
    candidate: Built,
    workload: Workload,
    options: GateOptions,
    progress: Callable[[str, float], None],
    inputs: DrawnInputs,
    counted: Mapping[str, Any] | None,
    timed: Callable[[], None],
    parts: Parts,
) -> tuple[Stage, Speedup | None]:
    if not isinstance(device, TimedDevice):
        return _unavailable(Reason.NOT_PROFILED, "the emulated device gives no times"), None
    if not workload.profile_dims:
        reason = "the workload has no profile_dims; add at least one shape to time"
        return _unavailable(Reason.NO_PROFILE_DIMS, reason), None
    shapes: list[ShapeSpeed] = []
    details: list[dict[str, Any]] = []
    last = len(workload.profile_dims) - 1
    with _timer(device, parts) as timer:
        for number, dims in enumerate(workload.profile_dims):
            shown = ", ".join(f"{k} {v}" for k, v in dims.items())
            progress(shown, number / len(workload.profile_dims))
            try:
                found, wrong, detail = _time_shape(
                    device,
                    timer,
                    baseline,
                    candidate,
                    workload,
                    dims,
                    options,
                    inputs,
                    counted,
                    parts,
                    timed if number == last and not options.counters else lambda: None,
                )
            except LaunchFailed as failed:
                return _failed(failed, shown, details), None
            except (LaunchError, DeviceError) as error:
                code = Reason.OUT_OF_MEMORY if error.code is Reason.OUT_OF_MEMORY else Reason.TIMING_FAILED
                return _unavailable(code, f"{shown} could not be timed: {error}", shapes=details), None
            details.append(detail)
            if wrong or found is None:
                stage = Stage(
                    name="profile",
                    status=StageStatus.FAIL,
                    code=Reason.WRONG_AFTER_TIMING,
                    reason=f"after timing, {wrong}",
                    details={"shapes": details},
                )
                return stage, None
            shapes.append(_speed(dims, found, SpeedState(detail["state"])))
    speedup = combine(shapes, options.guard)
    stage = judge_speed(speedup, options, details)
    if options.counters:
        progress("hardware counters", 1.0)
        dims = workload.profile_dims[0]
        with parts.part("counters"):
            counted = counters(baseline, candidate, workload, dims, timed_case(dims, options.seed).seed)
        stage = stage.model_copy(update={"details": {**stage.details, "counters": counted}})
    return stage, speedup


@contextmanager
def _timer(device: TimedDevice, parts: Parts) -> Iterator[Timer]:
    with parts.part("timer"):
        timer = device.open_timer()
    try:
        yield timer
    finally:
        timer.close()


def asks_to_keep_lines(built: Built) -> bool:
    """Whether a program gives the L2 cache hints: lines that it keeps would outlast what clears the cache."""
    return any(_HINTS.search(image.ptx) for image in built.images.values())


def _unavailable(code: Reason, reason: str, **details: Any) -> Stage:
    return Stage(name="profile", status=StageStatus.UNAVAILABLE, code=code, reason=reason, details=details)


def _failed(failed: LaunchFailed, shown: str, details: list[dict[str, Any]]) -> Stage:
    """A launch at a profiled shape that failed: the candidate's fault, when the candidate was launched."""
    if failed.program != CANDIDATE or failed.code is Reason.TIMING_FAILED:
        return _unavailable(Reason.TIMING_FAILED, f"{shown} could not be timed: {failed}", shapes=details)
    return Stage(
        name="profile",
        status=StageStatus.FAIL,
        code=failed.code,
        reason=f"the candidate failed while it was timed at {shown}: {failed}",
        details={"shapes": details},
    )


def _speed(dims: Mapping[str, int], found: Comparison, state: SpeedState) -> ShapeSpeed:
    return ShapeSpeed(
        dims=dict(dims),
        baseline_us=found.baseline_us,
        candidate_us=found.candidate_us,
        median=found.ratio.median,
        low=found.ratio.low,
        high=found.ratio.high,
        noise=found.noise,
        state=state,
    )


def _time_shape(
    device: TimedDevice,
    timer: Timer,
    baseline: Built,
    candidate: Built,
    workload: Workload,
    dims: Mapping[str, int],
    options: GateOptions,
    inputs: DrawnInputs,
    counted: Mapping[str, Any] | None,
    parts: Parts,
    done: Callable[[], None],
) -> tuple[Comparison | None, str, dict[str, Any]]:
    """The comparison, what is wrong with the candidate's outputs ("" when nothing is), and the details of the shape.

    None instead of a comparison for outputs that are wrong before anything is timed.
    """
    case = timed_case(dims, options.seed)
    work = work_of(workload, dims, device.describe(), counted)
    with parts.part("inputs"):
        drawn = inputs.of(dims)
    with ExitStack() as stack:
        with parts.part("prepare"):
            timed = stack.enter_context(
                TimedPrograms(device, baseline, candidate, workload, case, options.seed, drawn)
            )
        timer.forgets_kept_lines = any(asks_to_keep_lines(built) for built in (baseline, candidate))
        if timed.seen_wrong:
            return None, wrong_after_timing(timed), {"dims": dict(dims)}

        def compared(cache: Cache) -> Comparison:
            sampler = CudaSampler(timer, device.clocks, timed.programs, cache=cache, inspect=timed.inspect)
            with parts.part("measure" if cache == "cold" else "measure warm"):
                return compare_pairs(
                    sampler, seconds=options.profile_seconds, worth=options.interval, seed=options.seed
                )

        cold = compared("cold")
        detail = _details(dims, cold, work)
        detail |= {
            "buffer_sets": timed.buffer_sets,
            "resources": {name: timed.resources(number) for number, name in enumerate(PROGRAMS)},
            "peak_bytes": {name: timed.peak_bytes(number) for number, name in enumerate(PROGRAMS)},
            "event_overhead_us": timer.overhead_us,
            "forgets_kept_lines": timer.forgets_kept_lines,
        }
        if options.warm:
            detail["warm"] = _details(dims, compared("warm"), None)
        done()
        with parts.part("after"):
            return cold, wrong_after_timing(timed), detail


def _details(dims: Mapping[str, int], found: Comparison, work: Work | None) -> dict[str, Any]:
    """What one comparison showed; times against the roofline where the work is known and the cache was cold."""
    implausible = work is not None and found.candidate_us < work.floor_us
    code = Reason.IMPLAUSIBLE_SPEED if implausible else found.code
    return {
        "dims": dict(dims),
        "state": (SpeedState.AMBIGUOUS if implausible else found.state).value,
        "code": code,
        "reason": found.reason,
        "ratio": [found.ratio.median, found.ratio.low, found.ratio.high],
        "baseline_us": found.baseline_us,
        "candidate_us": found.candidate_us,
        "noise": found.noise,
        "blocks": found.blocks,
        "looks": found.looks,
        "seconds": found.seconds,
        "clock_ratio": found.clock_ratio,
        "baseline_cycles": found.baseline_cycles,
        "candidate_cycles": found.candidate_cycles,
        "implausible": implausible,
        **(work.against(found.baseline_us, found.candidate_us) if work is not None else {}),
        "device_states": found.device_states,
        "samples_of": {"blocks": found.blocks_kept, "of": found.blocks},
        "samples": found.samples,
    }
