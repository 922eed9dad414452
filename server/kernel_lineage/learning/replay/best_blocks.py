"""A step of which each state is timed at the number of threads at which it is fastest.

A benchmark that goes through numbers of threads tells what a kernel is at its best, and so does its author: a step that
looks slower at one of them may be faster there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from kernel_gate.verdict import SpeedState
from kernel_lineage.learning.replay.judging import JudgedStep
from kernel_lineage.learning.replay.outcome import Outcome
from kernel_lineage.learning.replay.preparing import Prepared
from kernel_lineage.learning.replay.record import Effect

_MOST = 3
"""Other numbers of threads that are timed."""
_FEWEST = 64
_Decided = tuple[Prepared, JudgedStep, Outcome]


def other_blocks(decided: _Decided) -> tuple[int, ...]:
    """The numbers of threads at which a step is worth timing that was slower at the one that was taken."""
    prepared, _, outcome = decided
    if outcome.effect is None or outcome.effect.state is not SpeedState.SLOW or len(prepared.blocks) < 2:
        return ()
    taken, *others = prepared.blocks
    near = sorted((n for n in others if n >= _FEWEST), key=lambda n: (abs(n / taken - 2), n))
    return tuple(near[:_MOST])


def at_its_best(
    decided: _Decided, others: Mapping[int, _Decided], judge: Callable[[Prepared], _Decided]
) -> _Decided:
    """The step with each state at its fastest number of threads, judged; `decided` where that is the one taken.

    `others` are the step at other numbers of threads, where both states gave the same and were timed.
    """
    tried = {decided[0].blocks[0]: decided, **others}
    before = min(tried, key=lambda n: _took(tried[n][2].effect)[0])
    after = min(tried, key=lambda n: _took(tried[n][2].effect)[1])
    if before == after and tried[before] is decided:
        return decided
    listed = ", ".join(str(n) for n in sorted(tried))
    note = f"of {listed} threads, the earlier state is fastest with {before} and the later one with {after}"
    step = replace(tried[after][0].step, before=tried[before][0].step.before)
    best = judge(replace(tried[after][0], step=step, said=(*tried[after][0].said, note)))
    return best if best[2].effect is not None else decided


def _took(effect: Effect | None) -> tuple[float, float]:
    """Microseconds of both states over all shapes."""
    shapes = effect.by_shape if effect is not None else []
    if not shapes:
        return float("inf"), float("inf")
    return sum(s.baseline_us for s in shapes), sum(s.candidate_us for s in shapes)
