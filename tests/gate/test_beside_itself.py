"""A kernel beside itself is run once in both places, and what is wrong with it is seen all the same."""

import pytest

from gate.programs import affine, workload
from kernel_gate.gate import judge
from kernel_gate.reasons import Reason

SMALL = workload("\n[[profile_dims]]\nN = 6\nC = 600\n")


def checked(old: str = "2.0f * x[i]", new: str = "2.0f * x[i]", other: str | None = None):
    program = affine(old, new)
    beside = program if other is None else affine(old, other)
    return judge(beside, program, SMALL, device="emulated")


def test_one_program_is_launched_less_often_than_two():
    itself, two = checked(), checked(other="x[i] * 2.0f")
    mine, theirs = itself.stage("check"), two.stage("check")
    assert mine.status == theirs.status == "pass"
    assert mine.details["launches"] < 0.8 * theirs.details["launches"]
    assert mine.details["callers"] == theirs.details["callers"]


@pytest.mark.parametrize(
    ("wrong", "seen"),
    [
        ("2.0f * x[i + 1]", Reason.OUT_OF_BOUNDS),
        ("2.0f * x[i] + y[i]", Reason.NOT_WRITTEN),
    ],
    ids=["out of bounds", "reads what is not written yet"],
)
def test_what_is_wrong_is_seen(wrong: str, seen: Reason):
    verdict = checked(new=wrong)
    itself = verdict.stage("check")
    assert itself.status != "pass"
    assert verdict.code is Reason.BASELINE_FAILS_CHECK, verdict.reason
    assert itself.details["cause"] == seen, verdict.reason
