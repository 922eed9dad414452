"""From intervals to a state. Every comparison is ambiguous until an interval as a whole says otherwise."""

from __future__ import annotations

from kernel_gate.reasons import Reason
from kernel_gate.timing.intervals import Interval
from kernel_gate.verdict import SpeedState

MIN_NOISE = 0.002
"""Below this nothing is called a difference: where code lies in memory may be worth as much."""

State = tuple[SpeedState, Reason | None, str]
"""The state, its code when it is ambiguous, and the reason in words."""


def classify(ratio: Interval, noise: float, worth: float, *, last: bool = False) -> State:
    """The state that an interval of the ratio earns.

    Fast and slow must clear the noise. Same must lie within half of `worth`, the smallest difference that is looked
    for; at the last look within the noise is enough, as no more can be told, unless that is more than `worth`.
    """
    if ratio.low > 1 + noise:
        return SpeedState.FAST, None, f"the whole interval is above 1 + noise ({noise:.2%})"
    if ratio.high < 1 - noise:
        return SpeedState.SLOW, None, f"the whole interval is below 1 − noise ({noise:.2%})"
    bound = max(worth / 2, min(noise, worth) if last else 0.0)
    if ratio.low >= 1 - bound and ratio.high <= 1 + bound:
        return SpeedState.SAME, None, f"the whole interval is within ±{bound:.2%}"
    why = f"the interval reaches into the noise (±{noise:.2%}); measure again, or for longer"
    return SpeedState.AMBIGUOUS, Reason.AMBIGUOUS_NOISE, why


def in_cycles(ratio: Interval, clock_ratio: float) -> Interval:
    """The ratio in clock cycles: a program's cycles are its time × the SM clock that NVML showed beside it."""
    return ratio.map(lambda value: value / clock_ratio)
