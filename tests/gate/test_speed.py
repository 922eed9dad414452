"""What the figures of all shapes mean together."""

import pytest

from kernel_gate.options import GateOptions
from kernel_gate.reasons import Reason
from kernel_gate.stages.speed import combine, judge_speed
from kernel_gate.verdict import ShapeSpeed, SpeedState, StageStatus

FAST, SAME, SLOW, AMBIGUOUS = SpeedState.FAST, SpeedState.SAME, SpeedState.SLOW, SpeedState.AMBIGUOUS


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
    details = [{"state": s.state, "code": None, "reason": "", "implausible": False} for s in shapes]
    stage = judge_speed(speedup, GateOptions(need=need, guard=guard), details)
    assert (speedup.state, stage.status) == (state, status)
    if status is StageStatus.FAIL and state is SLOW:
        assert stage.reason == "slower: 0.800× (0.790 … 0.810) at C 770, 100.0 → 125.0 µs"


@pytest.mark.parametrize(
    ("after", "state"),
    [(2.3, FAST), (2.6, SLOW), (100.2, SLOW)],
    ids=["hardly", "by more", "no launch alone"],
)
def test_what_a_launch_loses_that_does_next_to_nothing_counts_for_nothing(after: float, state: SpeedState):
    before = 2.2 if after < 5 else 100.0
    small = shape(SLOW, before / after, 1).model_copy(update={"baseline_us": before, "candidate_us": after})
    assert combine([shape(FAST, 1.3), small]).state is state


def test_faster_than_the_memory_is_implausible():
    speedup = combine([shape(AMBIGUOUS, 50.0)])
    stage = judge_speed(speedup, GateOptions(), [{"state": FAST, "reason": "", "implausible": True}])
    assert stage.status is StageStatus.UNAVAILABLE
    assert stage.code is Reason.IMPLAUSIBLE_SPEED and stage.reason.startswith("implausible: ")
