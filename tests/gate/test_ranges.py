"""Inputs near the ends of their types' ranges: whose overflow or underflow it is decides."""

import pytest

from benchmarks.strangers.layers import PAIRS
from benchmarks.strangers.numbers import pointwise
from kernel_gate.gate import judge
from kernel_gate.kept import Kept
from kernel_gate.options import GateOptions
from kernel_gate.stages import ranges
from kernel_gate.verdict import Stage, Verdict


def checked(before: str, after: str, *, values: str = "") -> tuple[Verdict, Stage]:
    ground = pointwise("kernel", before, "a", "b", values=values)
    programs = ground.program(), ground.program(ground.source.replace(before, after))
    with Kept() as kept:
        verdict = judge(
            *programs,
            ground.workload,
            device="emulated",
            options=GateOptions(seed=7, callers_seconds=0),
            kept=kept,
        )
    stage = verdict.stage("check")
    assert stage is not None
    return verdict, stage


def conditions(stage: Stage) -> list[str]:
    return [condition["expr"] for condition in stage.details["conditions"]]


def test_a_square_that_leaves_the_range_needs_inputs_that_lie_inside():
    _, stage = checked("hypotf(a[i], b[i])", "sqrtf(a[i] * a[i] + b[i] * b[i])")
    assert conditions(stage) == [
        "-6.98e+12 <= range(a) <= 6.98e+12 and -6.98e+12 <= range(b) <= 6.98e+12",
        "(range(a) <= -2.27e-13 or range(a) >= 2.27e-13) and (range(b) <= -2.27e-13 or range(b) >= 2.27e-13)",
    ]
    assert "infinity was born at line 3" in stage.details["conditions"][0]["evidence"]
    assert "underflow came about at line 3" in stage.details["conditions"][1]["evidence"]
    assert conditions(checked("a[i] / b[i] / b[i]", "a[i] / (b[i] * b[i])", values="positive")[1]) == [
        "range(a) <= 6.98e+12 and range(b) <= 6.98e+12",
        "range(a) >= 2.27e-13 and range(b) >= 2.27e-13",
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("sqrtf(a[i] * a[i] + b[i] * b[i])", "hypotf(a[i], b[i])"),
        ("a[i] / (b[i] * b[i])", "a[i] / b[i] / b[i]"),
        ("a[i] * a[i] * b[i]", "a[i] * (a[i] * b[i])"),
        ("a[i] / b[i]", "a[i] * (1.0f / b[i])"),
    ],
)
def test_where_the_baseline_leaves_the_range_or_both_stay_inside_nothing_is_needed(before, after):
    _, stage = checked(before, after)
    assert stage.status == "pass" and conditions(stage) == []


def test_what_is_wrong_there_without_leaving_the_range_is_wrong():
    verdict, stage = checked("a[i] + b[i]", "a[i] + (fabsf(a[i]) / 1e10f > 1e8f ? 0.0f : b[i])")
    assert (verdict.outcome, stage.details["inputs"]) == (
        "rejected",
        "all scaled by the largest to the power 2/3",
    )


FLUSHED = """[&] { float v; asm("mul.ftz.f32 %0, %1, %2;" : "=f"(v) : "f"(a[i]), "f"(b[i])); return v; }()"""


def test_a_candidate_that_takes_subnormal_inputs_for_zero_needs_others():
    _, stage = checked("a[i] * b[i]", FLUSHED)
    assert stage.status == "pass"
    assert conditions(stage) == ["(range(a) <= -1.18e-38 or range(a) >= 1.18e-38)"]
    assert conditions(checked("a[i] * b[i]", "b[i] * a[i]")[1]) == []
    assert conditions(checked("a[i] * b[i] + 1.0f", f"{FLUSHED} + 1.0f")[1]) == []


def test_a_quotient_that_is_zero_for_divisors_near_the_largest_needs_smaller_ones():
    _, stage = checked("a[i] / b[i]", "__fdividef(a[i], b[i])")
    assert conditions(stage) == ["-4.87e+25 <= range(a) <= 4.87e+25 and -4.87e+25 <= range(b) <= 4.87e+25"]
    assert "underflow came about at line 3" in stage.details["conditions"][0]["evidence"]


def test_sums_by_atomics_that_leave_the_range_in_some_orders_say_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A GPU adds in another order than the emulated device, which saw none of its sums leave the range."""
    monkeypatch.setattr(ranges, "births_in", lambda *_: ())
    pair = next(p for p in PAIRS if p.name == "a sum that is no number is not added")
    programs = pair.ground.program(), pair.ground.program(pair.text("honest"))
    options = GateOptions(seed=2, callers_seconds=0)
    verdict = judge(*programs, pair.ground.workload, device="emulated", options=options)
    stage = verdict.stage("check")
    assert stage is not None
    assert stage.status == "pass"
    assert "leave their type's range in some orders" in " ".join(stage.details["dropped"])
