"""Is the candidate faster? Paired samples, the noise of the measurement itself, and a state that starts as ambiguous.

Baseline (A) and candidate (B) are timed in blocks A B B A or B A A B, chosen at random, so that a drift of clocks or
temperature falls on both alike; blocks of the baseline with itself give the noise floor of the same run. Intervals are
percentile bootstrap intervals of the median (Efron and Tibshirani, An Introduction to the Bootstrap, §13.3).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kernel_gate.verdict import SpeedState

Floats = npt.NDArray[np.float64]

SHORT_US = 10.0
"""Below this, an event pair's own cost of about 2 µs shows: several launches are timed as one."""
_BATCH_US = 40.0
_MAX_BATCH = 64
_RESAMPLES = 1000
_LEVEL = 0.95
_WARM_CHANGE = 0.005
_WARM_ROUND = 8
_CHECK_EVERY = 10
_MIN_BLOCKS = 20
_MIN_NOISE = 0.001
"""An A/A interval narrower than this is luck: 0.1 % is what was seen of identical kernels on an H200."""


class PairTimer(Protocol):
    """Times one program at a time; 0 is the baseline, 1 the candidate."""

    def time(self, which: int, batch: int) -> float:
        """Microseconds per launch, of `batch` launches between two events, the L2 cache cold before the first."""

    def clock_mhz(self) -> float | None:
        """The SM clock now, None when nothing tells."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A median and the interval that holds it at the 95 % level."""

    median: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half of the interval's width."""
        return (self.high - self.low) / 2


@dataclass(frozen=True, slots=True)
class Comparison:
    """Baseline against candidate on one shape."""

    ratio: Interval
    """Baseline time over candidate time."""
    noise: float
    """Half-width of the A/A interval around 1."""
    state: SpeedState
    reason: str
    baseline_us: float
    candidate_us: float
    blocks: int
    batch: int
    clock_ratio: float | None
    """Median SM clock beside the candidate's samples over that beside the baseline's."""
    samples: dict[str, list[float]] = field(default_factory=dict)


def bootstrap_median(values: Sequence[float] | Floats, generator: np.random.Generator) -> Interval:
    """The median and its 95 % percentile bootstrap interval."""
    array = np.asarray(values, dtype=np.float64)
    picks = generator.integers(0, array.size, (_RESAMPLES, array.size))
    medians = np.median(array[picks], axis=1)
    tail = (1 - _LEVEL) / 2
    low, high = np.quantile(medians, [tail, 1 - tail])
    return Interval(float(np.median(array)), float(low), float(high))


def classify(ratio: Interval, noise: float, same_within: float) -> tuple[SpeedState, str]:
    """The state that an interval of the ratio earns. Fast and slow must clear the noise; same must lie within it."""
    if ratio.low > 1 + noise:
        return SpeedState.FAST, f"the whole interval is above 1 + noise ({noise:.2%})"
    if ratio.high < 1 - noise:
        return SpeedState.SLOW, f"the whole interval is below 1 − noise ({noise:.2%})"
    bound = max(noise, same_within)
    if ratio.low >= 1 - bound and ratio.high <= 1 + bound:
        return SpeedState.SAME, f"the whole interval is within ±{bound:.2%}"
    return (
        SpeedState.AMBIGUOUS,
        f"the interval reaches into the noise (±{noise:.2%}); measure again, or for longer",
    )


def choose_batch(single_us: float) -> int:
    """How many launches to time as one."""
    if single_us >= SHORT_US:
        return 1
    return min(_MAX_BATCH, math.ceil(_BATCH_US / max(single_us, 0.1)))


def warm_up(timer: PairTimer, seconds: float, clock: Callable[[], float] = time.monotonic) -> float:
    """Launch both until a round's median stops changing, or the time is spent; µs of the faster one."""
    started = clock()
    previous = math.inf
    while True:
        rounds = [[timer.time(which, 1) for _ in range(_WARM_ROUND)] for which in (0, 1)]
        medians = [float(np.median(r)) for r in rounds]
        now = sum(medians)
        if abs(now - previous) <= _WARM_CHANGE * now or clock() - started > seconds:
            return min(medians)
        previous = now


def _block(
    timer: PairTimer, order: tuple[int, int, int, int], batch: int
) -> list[tuple[int, float, float | None]]:
    return [(which, timer.time(which, batch), timer.clock_mhz()) for which in order]


def compare_pairs(
    timer: PairTimer,
    *,
    seconds: float,
    interval: float,
    seed: int,
    clock: Callable[[], float] = time.monotonic,
) -> Comparison:
    """Measure until the ratio's interval is narrow enough, has stopped shrinking, or the time is spent."""
    generator = np.random.default_rng(seed)
    started = clock()
    batch = choose_batch(warm_up(timer, seconds / 4, clock))
    ratios: list[float] = []
    own: list[float] = []
    times: tuple[list[float], list[float]] = ([], [])
    clocks: tuple[list[float], list[float]] = ([], [])
    widths: list[float] = []
    while True:
        first = int(generator.integers(0, 2))
        block = _block(timer, (first, 1 - first, 1 - first, first), batch)
        sums = [0.0, 0.0]
        for which, micros, mhz in block:
            sums[which] += micros
            times[which].append(micros)
            if mhz is not None:
                clocks[which].append(mhz)
        ratios.append(sums[0] / sums[1])
        alone = [micros for _, micros, _ in _block(timer, (0, 0, 0, 0), batch)]
        sign = 1 if generator.integers(0, 2) else -1
        own.append(((alone[0] + alone[3]) / (alone[1] + alone[2])) ** sign)
        spent = clock() - started
        if len(ratios) >= _MIN_BLOCKS and len(ratios) % _CHECK_EVERY == 0:
            widths.append(bootstrap_median(ratios, generator).half_width)
            settled = len(widths) >= 4 and widths[-1] > 0.95 * widths[-4]
            if (widths[-1] <= interval and len(ratios) >= 3 * _MIN_BLOCKS) or (
                settled and spent > seconds / 2
            ):
                break
        if spent > seconds and len(ratios) >= _MIN_BLOCKS:
            break
    return _conclude(ratios, own, times, clocks, batch, interval, generator)


def _conclude(
    ratios: list[float],
    own: list[float],
    times: tuple[list[float], list[float]],
    clocks: tuple[list[float], list[float]],
    batch: int,
    interval: float,
    generator: np.random.Generator,
) -> Comparison:
    ratio = bootstrap_median(ratios, generator)
    alone = bootstrap_median(own, generator)
    noise = max(_MIN_NOISE, abs(alone.low - 1), abs(alone.high - 1))
    state, reason = classify(ratio, noise, interval)
    clock_ratio = float(np.median(clocks[1]) / np.median(clocks[0])) if clocks[0] and clocks[1] else None
    if len(set(ratios)) == 1:
        state, reason = (
            SpeedState.AMBIGUOUS,
            "every sample is identical: the clock is at fault, not the kernel",
        )
    elif clock_ratio is not None and state in {SpeedState.FAST, SpeedState.SLOW}:
        cycles = Interval(*(value * 1 / clock_ratio for value in (ratio.median, ratio.low, ratio.high)))
        if classify(cycles, noise, interval)[0] is not state:
            state = SpeedState.AMBIGUOUS
            reason = f"it does not hold in clock cycles: the SM clock differed by {clock_ratio - 1:+.2%}; measure again"
    if batch > 1:
        reason += f"; {batch} launches per sample, because one is shorter than {SHORT_US:g} µs, warm after the first"
    return Comparison(
        ratio=ratio,
        noise=noise,
        state=state,
        reason=reason,
        baseline_us=float(np.median(times[0])),
        candidate_us=float(np.median(times[1])),
        blocks=len(ratios),
        batch=batch,
        clock_ratio=clock_ratio,
        samples={"baseline_us": times[0], "candidate_us": times[1], "ratio": ratios, "baseline_alone": own},
    )
