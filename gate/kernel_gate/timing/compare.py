"""Measure blocks until the ratio's interval says enough, or the time is spent.

The intervals are looked at several times, after 12 blocks and then always half as many again. Looking often and
stopping at a welcome result would make chance findings likely; so each look asks for a level at which all looks that
can be taken are wrong together in 1 % of runs at most (Bonferroni). Where the time is spent before the first look there
is that one alone, and it may be wrong in 1 % of runs itself: eight blocks are enough.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernel_gate.reasons import Reason
from kernel_gate.timing.intervals import Interval, midmean, signed_rank
from kernel_gate.timing.sampling import BASELINE, CANDIDATE, Blocks, Launch, Sampler, draw_block
from kernel_gate.timing.states import MIN_NOISE, classify, in_cycles
from kernel_gate.verdict import SpeedState

LEVEL = 0.99
"""The confidence of all looks of one comparison together."""
_FIRST_LOOK = 12
_PATIENCE = 4
"""How many times as long the first look may take: with fewer blocks there is no interval at all."""
_GROWTH = 1.5
_LOOKS = 18
_LEVEL_PER_LOOK = 1 - (1 - LEVEL) / _LOOKS
_PRECISE = 0.005
"""Half-width at which a known difference is known well enough."""
_WARM_CHANGE = 0.005
_WARM_ROUND = 8
_MOST_KEPT = 1000
"""Blocks whose samples stay in the evidence; the figures are those of all blocks."""
_LOG_BOUNDLESS = math.log(1e6)
"""Stands for an end of an interval that is not known, as JSON and pictures need a number."""
_BOUNDLESS = 0.999e6
_THROTTLED_FOR_HEAT_OR_POWER = 0x4 | 0x8 | 0x20 | 0x40 | 0x80
"""NVML's bits: power cap, hardware slowdown, software and hardware thermal slowdown, power brake."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Baseline against candidate on one shape."""

    ratio: Interval
    """Baseline time over candidate time."""
    noise: float
    """What the copies of the same code differ by at most: the far end of their interval around 1."""
    state: SpeedState
    code: Reason | None
    """Why it is ambiguous; None when it is not."""
    reason: str
    baseline_us: float
    """The mean of the middle half of its samples."""
    candidate_us: float
    blocks: int
    looks: int
    seconds: float
    """What measuring took, warming up included."""
    clock_ratio: float | None
    """Mean SM clock beside the candidate's samples over that beside the baseline's."""
    baseline_cycles: float | None
    """Time × SM clock, as the times; None when nothing tells the clock."""
    candidate_cycles: float | None
    device_states: list[dict[str, float]] = field(default_factory=list)
    """Temperature, power and throttle reasons at the start, when throttle reasons change, and at the end."""
    samples: dict[str, list[Any]] = field(default_factory=dict)
    """Seconds by program: two samples a block, for `blocks_kept` blocks."""
    blocks_kept: int = 0


def warm_up(sampler: Sampler, seconds: float, clock: Callable[[], float]) -> None:
    """Launch everything in turns until a round's median stops changing, or the time is spent."""
    started = clock()
    previous = math.inf
    everything = [
        Launch(program, copy, buffers)
        for buffers in range(sampler.buffer_sets)
        for copy in (0, 1)
        for program in (BASELINE, CANDIDATE)
    ]
    while True:
        times: dict[int, list[float]] = {BASELINE: [], CANDIDATE: []}
        while len(times[BASELINE]) < _WARM_ROUND:
            for launch in everything:
                times[launch.program].append(sampler.time(launch).micros)
                if clock() - started > seconds:
                    return
        now = sum(float(np.median(values)) for values in times.values())
        if abs(now - previous) <= _WARM_CHANGE * now:
            return
        previous = now


def compare_pairs(
    sampler: Sampler,
    *,
    seconds: float,
    worth: float,
    seed: int,
    clock: Callable[[], float] = time.monotonic,
) -> Comparison:
    """Measure for `seconds`, and for four times as long at most where so few launches fit that there is no interval.

    `worth` is the smallest difference that is looked for, as a share of the time.
    """
    generator = np.random.default_rng(seed)
    started = clock()
    states = [sampler.state()]
    warm_up(sampler, seconds / 4, clock)
    blocks = Blocks()
    look, looks = _FIRST_LOOK, 0
    while True:
        launches = draw_block(generator, sampler.buffer_sets)
        blocks.add(launches, [sampler.time(launch) for launch in launches])
        spent = clock() - started
        out_of_time = spent > seconds * (1 if len(blocks) >= _FIRST_LOOK else _PATIENCE)
        if len(blocks) < look and not out_of_time:
            continue
        looks += 1
        look = math.ceil(look * _GROWTH)
        _note_change(states, sampler.state())
        last = out_of_time or looks == _LOOKS
        level = LEVEL if last and looks == 1 else _LEVEL_PER_LOOK
        judgement = _judge(blocks, worth, level, last=last)
        if last or _settled(judgement, spent > seconds / 2):
            break
    states.append(sampler.state())
    return _conclude(judgement, blocks, looks, clock() - started, states)


def _note_change(states: list[dict[str, float]], now: dict[str, float]) -> None:
    if now.get("throttle_reasons") != states[-1].get("throttle_reasons"):
        states.append(now)


@dataclass(frozen=True, slots=True)
class _Judgement:
    ratio: Interval
    noise: float
    state: SpeedState
    code: Reason | None
    reason: str


def _judge(blocks: Blocks, worth: float, level: float, *, last: bool) -> _Judgement:
    """What the blocks so far say."""
    ratios = blocks.log_ratios()
    ratio = signed_rank(ratios, level).map(_exp)
    twins = signed_rank(blocks.log_twins(), level).map(_exp)
    noise = max(MIN_NOISE, 1 - twins.low, twins.high - 1)
    if len(set(blocks.of(BASELINE))) == len(set(blocks.of(CANDIDATE))) == 1:
        why = "every sample is identical: the timer is at fault, not the kernel"
        return _Judgement(ratio, noise, SpeedState.AMBIGUOUS, Reason.IDENTICAL_SAMPLES, why)
    if max(twins.high, ratio.high) >= _BOUNDLESS:
        why = f"{len(blocks)} blocks fit into the time, too few for an interval; measure for longer"
        return _Judgement(ratio, 1.0, SpeedState.AMBIGUOUS, Reason.AMBIGUOUS_NOISE, why)
    state, code, reason = classify(ratio, noise, worth, last=last)
    clock_ratio = blocks.clock_ratio()
    if clock_ratio is not None and state in {SpeedState.FAST, SpeedState.SLOW}:
        cycles = in_cycles(ratio, clock_ratio)
        if classify(cycles, noise, worth, last=last)[0] is not state:
            state, code = SpeedState.AMBIGUOUS, Reason.AMBIGUOUS_CYCLES
            reason = f"it does not hold in clock cycles: the SM clock differed by {clock_ratio - 1:+.2%}; measure again"
    return _Judgement(ratio, noise, state, code, reason)


def _exp(value: float) -> float:
    return math.exp(min(max(value, -_LOG_BOUNDLESS), _LOG_BOUNDLESS))


def _settled(judgement: _Judgement, long_enough: bool) -> bool:
    """Whether more blocks would change nothing that matters."""
    if judgement.code is Reason.IDENTICAL_SAMPLES:
        return True
    if judgement.state is SpeedState.AMBIGUOUS:
        return False
    return judgement.ratio.half_width <= _PRECISE or long_enough


def _conclude(
    judgement: _Judgement, blocks: Blocks, looks: int, seconds: float, states: list[dict[str, float]]
) -> Comparison:
    code, reason = judgement.code, judgement.reason
    kept = blocks.thinned(_MOST_KEPT)
    throttled = any(int(s.get("throttle_reasons", 0)) & _THROTTLED_FOR_HEAT_OR_POWER for s in states)
    if code is Reason.AMBIGUOUS_NOISE and throttled:
        code, reason = Reason.THROTTLED, f"{reason}; the GPU lowered its clock for heat or power meanwhile"
    return Comparison(
        ratio=judgement.ratio,
        noise=judgement.noise,
        state=judgement.state,
        code=code,
        reason=reason,
        baseline_us=midmean(blocks.of(BASELINE)),
        candidate_us=midmean(blocks.of(CANDIDATE)),
        blocks=len(blocks),
        looks=looks,
        seconds=seconds,
        clock_ratio=blocks.clock_ratio(),
        baseline_cycles=blocks.cycles(BASELINE),
        candidate_cycles=blocks.cycles(CANDIDATE),
        device_states=states,
        samples={
            "baseline_us": kept.of(BASELINE),
            "candidate_us": kept.of(CANDIDATE),
            "baseline_mhz": kept.clocks_of(BASELINE),
            "candidate_mhz": kept.clocks_of(CANDIDATE),
        },
        blocks_kept=len(kept),
    )
