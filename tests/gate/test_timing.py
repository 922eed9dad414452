"""Comparing two programs, with timers whose truth is known."""

import math

import numpy as np
import pytest

from kernel_gate.reasons import Reason
from kernel_gate.timing.compare import Comparison, compare_pairs
from kernel_gate.timing.intervals import Interval
from kernel_gate.timing.sampling import BASELINE, CANDIDATE, Blocks, Launch, Sample, draw_block
from kernel_gate.timing.states import classify
from kernel_gate.verdict import SpeedState

FAST, SAME, SLOW, AMBIGUOUS = SpeedState.FAST, SpeedState.SAME, SpeedState.SLOW, SpeedState.AMBIGUOUS


class SyntheticSampler:
    """Two programs of known times, with noise, drift and clocks; its own clock advances by what it measures."""

    def __init__(
        self, a_us: float, b_us: float, *, noise=0.003, drift=0.0, clocks=(1980.0, 1980.0), copies=0.0,
        outliers=0.0, tick_us=0.0, throttled=0, seed=1,
    ) -> None:  # fmt: skip
        self.buffer_sets = 3
        self._times, self._clocks, self._noise = (a_us, b_us), clocks, noise
        self._drift, self._outliers, self._tick, self._throttled = drift, outliers, tick_us, throttled
        self._generator = np.random.default_rng(seed)
        self._places = np.exp(copies * self._generator.standard_normal((2, 2)))
        self.launched: list[Launch] = []
        self.now = 0.0

    def time(self, launch: Launch) -> Sample:
        self.launched.append(launch)
        self.now += 1e-4
        error = self._noise * self._generator.standard_normal() + self._drift * len(self.launched)
        if self._generator.random() < self._outliers:
            error += 0.5
        micros = self._times[launch.program] * self._places[launch.program, launch.copy] * math.exp(error)
        if self._tick:
            micros = round(micros / self._tick) * self._tick
        return Sample(micros, self._clocks[launch.program])

    def state(self) -> dict[str, float]:
        return {"temperature_c": 40.0, "throttle_reasons": self._throttled if len(self.launched) > 100 else 0}


def compared(sampler: SyntheticSampler, seconds: float = 2.0, seed: int = 3) -> Comparison:
    return compare_pairs(sampler, seconds=seconds, worth=0.005, seed=seed, clock=lambda: sampler.now)


@pytest.mark.parametrize(
    ("candidate_us", "state"),
    [(80.0, FAST), (98.0, FAST), (125.0, SLOW), (102.0, SLOW), (100.5, SLOW), (99.5, FAST), (100.0, SAME)],
)
def test_known_differences_are_seen(candidate_us, state):
    comparison = compared(SyntheticSampler(100.0, candidate_us))
    assert comparison.state is state
    assert comparison.ratio.low <= 100.0 / candidate_us <= comparison.ratio.high
    assert comparison.code is None


@pytest.mark.long
def test_identical_programs_are_hardly_ever_called_fast_or_slow():
    states = [compared(SyntheticSampler(50.0, 50.0, noise=0.01, seed=s), 1.0, s).state for s in range(120)]
    assert sum(state in {FAST, SLOW} for state in states) == 0
    assert states.count(SAME) > 110


@pytest.mark.long
def test_copies_that_differ_by_their_place_widen_the_noise_and_deceive_nobody():
    comparisons = [compared(SyntheticSampler(50.0, 50.0, copies=0.004, seed=s), 0.2, s) for s in range(40)]
    assert max(c.noise for c in comparisons) > 0.004
    assert sum(c.state in {FAST, SLOW} for c in comparisons) <= 16
    alike = [compared(SyntheticSampler(50.0, 50.0, copies=0.0005, seed=s), 0.2, s) for s in range(40)]
    assert sum(c.state in {FAST, SLOW} for c in alike) == 0


@pytest.mark.parametrize("change", [{"drift": 2e-5}, {"outliers": 0.02}, {"tick_us": 0.5}])
def test_drift_outliers_and_coarse_timers_fall_on_both_alike(change):
    comparison = compared(SyntheticSampler(50.0, 50.0, **change))
    assert comparison.state is SAME
    assert abs(comparison.ratio.median - 1) < 0.002


def test_a_win_that_is_only_a_clock_is_ambiguous():
    comparison = compared(SyntheticSampler(100.0, 95.0, clocks=(1880.0, 1980.0)), seconds=0.5)
    assert (comparison.state, comparison.code) == (AMBIGUOUS, Reason.AMBIGUOUS_CYCLES)
    assert "clock cycles" in comparison.reason
    assert comparison.clock_ratio == pytest.approx(1980 / 1880)
    assert comparison.candidate_cycles == pytest.approx(95 * 1980, rel=0.01)


def test_identical_samples_are_a_fault_of_the_timer():
    comparison = compared(SyntheticSampler(100.0, 80.0, noise=0.0))
    assert (comparison.state, comparison.code) == (AMBIGUOUS, Reason.IDENTICAL_SAMPLES)
    assert comparison.looks == 1


def test_noise_without_end_is_ambiguous_when_the_time_is_spent():
    sampler = SyntheticSampler(100.0, 100.0, noise=0.5)
    comparison = compared(sampler, seconds=0.3)
    assert (comparison.state, comparison.code) == (AMBIGUOUS, Reason.AMBIGUOUS_NOISE)
    assert sampler.now < 0.31


def test_throttling_is_named_when_it_leaves_the_answer_open():
    comparison = compared(SyntheticSampler(100.0, 100.0, noise=0.5, throttled=0x20), seconds=0.3)
    assert comparison.code is Reason.THROTTLED
    assert [state["throttle_reasons"] for state in comparison.device_states] == [0, 0x20, 0x20]
    assert compared(SyntheticSampler(100.0, 80.0, throttled=0x20)).state is FAST


def test_a_clear_answer_ends_the_measurement():
    assert compared(SyntheticSampler(100.0, 50.0, noise=0.001)).blocks == 12
    assert compared(SyntheticSampler(100.0, 100.5, noise=0.02)).blocks > 500


@pytest.mark.long
def test_the_evidence_keeps_samples_of_so_many_blocks_from_first_to_last():
    comparison = compared(SyntheticSampler(100.0, 100.3, noise=0.05), seconds=4.0)
    assert comparison.blocks > comparison.blocks_kept == 1000
    assert {len(values) for values in comparison.samples.values()} == {2000}
    blocks = Blocks([(float(n),) * 4 for n in range(9)], [(None,) * 4 for _ in range(9)])
    assert [row[0] for row in blocks.thinned(4).micros] == [0, 2, 5, 8]
    assert blocks.thinned(9) is blocks


@pytest.mark.parametrize(
    ("interval", "last", "state"),
    [
        (Interval(1.1, 1.05, 1.15), False, FAST),
        (Interval(0.9, 0.85, 0.95), False, SLOW),
        (Interval(1.0, 0.999, 1.001), False, SAME),
        (Interval(1.0, 0.9971, 1.0029), False, AMBIGUOUS),
        (Interval(1.0, 0.9971, 1.0029), True, SAME),
        (Interval(1.01, 0.99, 1.03), True, AMBIGUOUS),
        (Interval(1.004, 1.0015, 1.0065), False, AMBIGUOUS),
    ],
)
def test_states_are_earned_by_the_whole_interval(interval, last, state):
    assert classify(interval, 0.003, 0.005, last=last)[0] is state


def test_same_at_the_end_is_never_wider_than_what_was_looked_for():
    assert classify(Interval(1.0, 0.993, 1.007), 0.02, 0.005, last=True)[0] is AMBIGUOUS


def test_a_block_holds_each_copy_once_on_one_set_of_buffers_and_takes_turns():
    generator = np.random.default_rng(1)
    orders = set()
    for _ in range(200):
        block = draw_block(generator, 3)
        assert {(launch.program, launch.copy) for launch in block} == {(0, 0), (0, 1), (1, 0), (1, 1)}
        assert len({launch.buffers for launch in block}) == 1
        programs = tuple(launch.program for launch in block)
        assert programs in {(0, 1, 1, 0), (1, 0, 0, 1)}
        orders.add(tuple((launch.program, launch.copy, launch.buffers) for launch in block))
    assert len(orders) == 2 * 2 * 2 * 3


def test_ratios_and_twins_are_contrasts_of_the_same_samples():
    blocks = Blocks()
    times = {(BASELINE, 0): 8.0, (BASELINE, 1): 2.0, (CANDIDATE, 0): 2.0, (CANDIDATE, 1): 2.0}
    launches = [Launch(program, copy, 0) for program, copy in times]
    blocks.add(launches, [Sample(micros, 1000.0) for micros in times.values()])
    assert blocks.log_ratios() == pytest.approx([math.log(2)])
    assert blocks.log_twins() == pytest.approx([math.log(2)])
    assert blocks.of(BASELINE) == [8.0, 2.0]
    assert blocks.cycles(CANDIDATE) == 2000.0


FEW = 1e-3
"""Seconds in which so many launches fit that the time is spent after some blocks more than eight, and before twelve."""


def test_eight_blocks_are_enough_for_the_only_look_at_slow_launches() -> None:
    slow = compared(SyntheticSampler(50_000.0, 5_000.0, noise=0.05), seconds=FEW)
    assert 8 <= slow.blocks < 12 and slow.looks == 1
    assert slow.state is FAST and slow.ratio.low <= 10.0 <= slow.ratio.high
    fewer = compared(SyntheticSampler(50_000.0, 5_000.0, noise=0.05), seconds=FEW / 2)
    assert fewer.blocks < 8 and fewer.state is AMBIGUOUS


def test_few_blocks_of_the_same_are_hardly_ever_called_fast_or_slow() -> None:
    runs = [
        compared(SyntheticSampler(100.0, 100.0, noise=0.05, seed=n), seconds=FEW, seed=n) for n in range(300)
    ]
    assert all(8 <= run.blocks < 12 for run in runs)
    assert sum(run.state in (FAST, SLOW) for run in runs) <= 6
