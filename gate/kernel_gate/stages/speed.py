"""What the figures of all profiled shapes mean together for the candidate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from kernel_gate.expressions import evaluate
from kernel_gate.options import GateOptions
from kernel_gate.reasons import Reason
from kernel_gate.verdict import ShapeSpeed, SpeedState, Speedup, Stage, StageStatus

_LAUNCH_US = 5.0
_NO_LOSS_US = 0.25
"""Launches of kernels that do nothing take 2 to 3 µs, and differ by so much with their parameters and registers."""


def combine(shapes: Sequence[ShapeSpeed], guard: str | None = None) -> Speedup:
    """One figure for all shapes: geometric means; one regression makes the whole slow, unless the guard excludes it."""

    def mean(values: list[float]) -> float:
        return math.exp(sum(map(math.log, values)) / len(values))

    states = {_state(s) for s in shapes if guard is None or evaluate(guard, s.dims)}
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


def _state(shape: ShapeSpeed) -> SpeedState:
    """The state of a shape; one that takes hardly longer than a launch, and loses next to nothing, is as fast."""
    is_launch = shape.candidate_us <= _LAUNCH_US and shape.candidate_us - shape.baseline_us <= _NO_LOSS_US
    return SpeedState.SAME if shape.state is SpeedState.SLOW and is_launch else shape.state


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

    def stage(status: StageStatus, code: Reason, reason: str) -> Stage:
        return Stage(name="profile", status=status, code=code, reason=reason, details={"shapes": details})

    match speedup.state:
        case SpeedState.FAST:
            return stage(StageStatus.PASS, Reason.FASTER, f"faster: {_figure(best)}")
        case SpeedState.SLOW:
            slow = [s for s in shapes if _state(s) is SpeedState.SLOW]
            code = Reason.SLOWER if len(slow) == len(shapes) else Reason.SLOWER_ON_A_SHAPE
            slowest = min(slow, key=lambda s: s.median)
            return stage(StageStatus.FAIL, code, f"slower: {_figure(slowest)}")
        case SpeedState.SAME if options.need == "not_slower":
            return stage(StageStatus.PASS, Reason.SAME_SPEED, f"as fast: {_figure(worst)}")
        case SpeedState.SAME:
            return stage(StageStatus.FAIL, Reason.NOT_FASTER, f"not faster: {_figure(best)}")
    if any(d["implausible"] for d in details):
        reason = (
            f"implausible: faster than the device can move the bytes or do the operations: {_figure(best)}"
        )
        return stage(StageStatus.UNAVAILABLE, Reason.IMPLAUSIBLE_SPEED, reason)
    unclear = next((d for d in details if d["state"] == SpeedState.AMBIGUOUS), None)
    code = (unclear and unclear["code"]) or Reason.AMBIGUOUS_NOISE
    why = unclear["reason"] if unclear else ""
    return stage(StageStatus.UNAVAILABLE, code, f"ambiguous: {_figure(worst)}; {why}")
