"""The statistics of timing, on timers whose truth is known."""

import numpy as np
import pytest

from kernel_gate.options import GateOptions
from kernel_gate.stages.profile import combine, judge_speed
from kernel_gate.timing import Interval, bootstrap_median, choose_batch, classify, compare_pairs
from kernel_gate.verdict import ShapeSpeed, SpeedState, StageStatus

FAST, SAME, SLOW, AMBIGUOUS = SpeedState.FAST, SpeedState.SAME, SpeedState.SLOW, SpeedState.AMBIGUOUS


class SyntheticTimer:
    """Two programs of known times, with noise, drift and clocks; its own clock advances by what it measures."""

    def __init__(
        self, a_us: float, b_us: float, *, noise=0.003, drift=0.0, clocks=(1980.0, 1980.0), seed=1
    ) -> None:
        self._times, self._noise, self._drift, self._clocks = (a_us, b_us), noise, drift, clocks
        self._generator = np.random.default_rng(seed)
        self._last = 0
        self.launches = 0
        self.now = 0.0
        self.batches: set[int] = set()

    def time(self, which: int, batch: int) -> float:
        self.launches += batch
        self.batches.add(batch)
        self._last = which
        factor = (1 + self._drift * self.launches) * (1 + self._noise * self._generator.standard_normal())
        self.now += 1e-4
        return self._times[which] * factor

    def clock_mhz(self) -> float | None:
        return self._clocks[self._last]

    def clock(self) -> float:
        return self.now


def compared(timer: SyntheticTimer, seconds: float = 2.0):
    return compare_pairs(timer, seconds=seconds, interval=0.005, seed=3, clock=timer.clock)


@pytest.mark.parametrize(
    ("candidate_us", "states"),
    [(80.0, {FAST}), (98.0, {FAST}), (125.0, {SLOW}), (102.0, {SLOW}), (100.0, {SAME, AMBIGUOUS})],
)
def test_known_differences_are_seen(candidate_us, states):
    found = compared(SyntheticTimer(100.0, candidate_us))
    assert found.state in states
    assert (
        found.ratio.low <= 100.0 / candidate_us * 1.002 and found.ratio.high >= 100.0 / candidate_us * 0.998
    )


def test_identical_programs_are_never_called_fast_or_slow():
    states = [
        compared(SyntheticTimer(50.0, 50.0, noise=0.01, seed=seed), seconds=0.2).state for seed in range(60)
    ]
    assert sum(state in {FAST, SLOW} for state in states) == 0
    assert states.count(SAME) > 30


def test_a_drift_falls_on_both_alike():
    found = compared(SyntheticTimer(100.0, 100.0, noise=0.0005, drift=2e-4))
    assert found.state in {SAME, AMBIGUOUS}
    assert abs(found.ratio.median - 1) < 0.002


def test_a_win_that_is_only_a_clock_is_ambiguous():
    found = compared(SyntheticTimer(100.0, 95.0, clocks=(1880.0, 1980.0)))
    assert found.state is AMBIGUOUS
    assert "clock cycles" in found.reason


def test_identical_samples_are_a_fault_of_the_clock():
    found = compared(SyntheticTimer(100.0, 80.0, noise=0.0))
    assert found.state is AMBIGUOUS
    assert "identical" in found.reason


def test_short_kernels_are_batched_and_that_is_said():
    timer = SyntheticTimer(3.0, 2.0)
    found = compared(timer)
    assert found.state is FAST
    assert 18 <= found.batch == max(timer.batches) <= 22
    assert f"{found.batch} launches per sample" in found.reason
    assert choose_batch(10.0) == 1 and choose_batch(0.01) == 64


def test_measuring_stops_when_the_time_is_spent():
    timer = SyntheticTimer(100.0, 100.0, noise=0.5)
    assert compared(timer, seconds=0.3).state is AMBIGUOUS
    assert timer.now < 0.6


def test_the_bootstrap_interval_holds_the_median():
    generator = np.random.default_rng(5)
    holds = 0
    for _ in range(100):
        interval = bootstrap_median(generator.normal(1.0, 0.1, 60), generator)
        holds += interval.low <= 1.0 <= interval.high
    assert 85 <= holds <= 100


@pytest.mark.parametrize(
    ("interval", "state"),
    [
        (Interval(1.1, 1.05, 1.15), FAST),
        (Interval(0.9, 0.85, 0.95), SLOW),
        (Interval(1.0, 0.999, 1.001), SAME),
        (Interval(1.01, 0.99, 1.03), AMBIGUOUS),
        (Interval(1.004, 1.0015, 1.0065), AMBIGUOUS),
    ],
)
def test_states_are_earned_by_the_whole_interval(interval, state):
    assert classify(interval, 0.002, 0.005)[0] is state


def shape(state: SpeedState, median: float, c: int = 1024) -> ShapeSpeed:
    return ShapeSpeed(
        dims={"C": c}, baseline_us=100.0, candidate_us=100.0 / median, median=median, low=median - 0.01,
        high=median + 0.01, noise=0.002, state=state,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("shapes", "guard", "need", "state", "status"),
    [
        ([shape(FAST, 1.3)], None, "faster", FAST, StageStatus.PASS),
        ([shape(FAST, 1.3), shape(SAME, 1.0)], None, "faster", FAST, StageStatus.PASS),
        ([shape(FAST, 1.3), shape(SLOW, 0.8, 770)], None, "faster", SLOW, StageStatus.FAIL),
        ([shape(FAST, 1.3), shape(SLOW, 0.8, 770)], "C % 4 == 0", "faster", FAST, StageStatus.PASS),
        ([shape(FAST, 1.3), shape(AMBIGUOUS, 1.0)], None, "faster", AMBIGUOUS, StageStatus.UNAVAILABLE),
        ([shape(SAME, 1.0)], None, "faster", SAME, StageStatus.FAIL),
        ([shape(SAME, 1.0)], None, "not_slower", SAME, StageStatus.PASS),
    ],
)
def test_all_shapes_together(shapes, guard, need, state, status):
    speedup = combine(shapes, guard)
    details = [{"state": s.state, "reason": "", "implausible": False} for s in shapes]
    stage = judge_speed(speedup, GateOptions(need=need, guard=guard), details)
    assert (speedup.state, stage.status) == (state, status)
    if status is StageStatus.FAIL and state is SLOW:
        assert stage.reason == "slower: 0.800× (0.790 … 0.810) at C 770, 100.0 → 125.0 µs"


def test_faster_than_the_memory_is_implausible():
    speedup = combine([shape(AMBIGUOUS, 50.0)])
    stage = judge_speed(speedup, GateOptions(), [{"state": FAST, "reason": "", "implausible": True}])
    assert stage.status is StageStatus.UNAVAILABLE
    assert stage.reason.startswith("implausible: ")
