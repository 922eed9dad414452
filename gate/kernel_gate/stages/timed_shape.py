"""One profiled shape: both programs timed in pairs, and what was timed checked as well."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from kernel_gate.built import Built
from kernel_gate.devices.timed import TimedDevice, Timer
from kernel_gate.options import GateOptions
from kernel_gate.parts import Parts
from kernel_gate.reasons import Reason
from kernel_gate.stages.after_timing import wrong_after_timing
from kernel_gate.stages.drawn_inputs import DrawnInputs, timed_case
from kernel_gate.stages.roofline import Work, work_of
from kernel_gate.stages.timed_programs import TimedPrograms
from kernel_gate.timing.compare import Comparison, compare_pairs
from kernel_gate.timing.cuda_sampler import Cache, CudaSampler
from kernel_gate.timing.sampling import PROGRAMS
from kernel_gate.verdict import SpeedState
from kernel_gate.workload import Workload

_HINTS = re.compile(r"\bcreatepolicy\b|evict_last|L2::cache_hint|\bapplypriority\b")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is timed, and how; the same for every shape."""

    baseline: Built
    candidate: Built
    workload: Workload
    options: GateOptions
    inputs: DrawnInputs
    counted: Mapping[str, Any] | None
    """The candidate's work on small shapes, from `counted_work`."""
    timed: Callable[[], None]
    """Called when the last shape has been timed and nothing else is."""
    parts: Parts
    same_expression: bool = False
    """Whether algebra says that both programs compute the same expression."""


@dataclass(frozen=True, slots=True)
class TimedShape:
    """What the profile of one shape gave."""

    details: dict[str, Any]
    found: Comparison | None = None
    """None when the outputs were wrong before anything was timed."""
    wrong: str = ""
    """What is wrong with the candidate's outputs."""


def time_shape(
    device: TimedDevice, timer: Timer, asked: Asked, dims: Mapping[str, int], *, last: bool
) -> TimedShape:
    """Raises `LaunchFailed`, `LaunchError`, `DeviceError`, and `WorkloadError` and `MemoryError` for its inputs."""
    options, parts, both = asked.options, asked.parts, (asked.baseline, asked.candidate)
    case = timed_case(dims, options.seed)
    work = work_of(asked.workload, dims, device.describe(), asked.counted)
    with parts.part("inputs"):
        drawn = asked.inputs.of(dims)
    with ExitStack() as stack:
        with parts.part("prepare"):
            timed = stack.enter_context(
                TimedPrograms(
                    device,
                    *both,
                    asked.workload,
                    case,
                    options.seed,
                    drawn,
                    same_expression=asked.same_expression,
                )
            )
        if timed.seen_wrong:
            return TimedShape({"dims": dict(dims)}, wrong=wrong_after_timing(timed))
        timer.forgets_kept_lines = any(asks_to_keep_lines(built) for built in both)

        def compared(cache: Cache) -> Comparison:
            sampler = CudaSampler(timer, device.clocks, timed.programs, cache=cache, inspect=timed.inspect)
            with parts.part("measure" if cache == "cold" else "measure warm"):
                return compare_pairs(
                    sampler, seconds=options.profile_seconds, worth=options.interval, seed=options.seed
                )

        cold = compared("cold")
        details = _details(dims, cold, work)
        details |= {
            "buffer_sets": timed.buffer_sets,
            "resources": {name: timed.resources(number) for number, name in enumerate(PROGRAMS)},
            "peak_bytes": {name: timed.peak_bytes(number) for number, name in enumerate(PROGRAMS)},
            "event_overhead_us": timer.overhead_us,
            "forgets_kept_lines": timer.forgets_kept_lines,
        }
        if options.warm:
            details["warm"] = _details(dims, compared("warm"), None)
        if last:
            asked.timed()
        with parts.part("after"):
            return TimedShape(details, cold, wrong_after_timing(timed))


def asks_to_keep_lines(built: Built) -> bool:
    """Whether a program gives the L2 cache hints: lines that it keeps would outlast what clears the cache."""
    return built.uses(_HINTS)


def _details(dims: Mapping[str, int], comparison: Comparison, work: Work | None) -> dict[str, Any]:
    """What one comparison showed; times against the roofline where the work is known and the cache was cold."""
    # A baseline that is faster than the floor shows that less is moved than that counts.
    implausible = work is not None and comparison.candidate_us < work.floor_us <= comparison.baseline_us
    code = Reason.IMPLAUSIBLE_SPEED if implausible else comparison.code
    return {
        "dims": dict(dims),
        "state": (SpeedState.AMBIGUOUS if implausible else comparison.state).value,
        "code": code,
        "reason": comparison.reason,
        "ratio": [comparison.ratio.median, comparison.ratio.low, comparison.ratio.high],
        "baseline_us": comparison.baseline_us,
        "candidate_us": comparison.candidate_us,
        "noise": comparison.noise,
        "blocks": comparison.blocks,
        "looks": comparison.looks,
        "seconds": comparison.seconds,
        "clock_ratio": comparison.clock_ratio,
        "baseline_cycles": comparison.baseline_cycles,
        "candidate_cycles": comparison.candidate_cycles,
        "implausible": implausible,
        **(work.against(comparison.baseline_us, comparison.candidate_us) if work is not None else {}),
        "device_states": comparison.device_states,
        "samples_of": {"blocks": comparison.blocks_kept, "of": comparison.blocks},
        "samples": comparison.samples,
    }
