"""A kernel beside which the candidate's host code launches others decides nothing, unless it does what none may do."""

from __future__ import annotations

import pytest

from gate.programs import affine, workload
from kernel_gate.gate import judge
from kernel_gate.reasons import Reason
from kernel_gate.stages.alone import judged_alone
from kernel_gate.standing import Standing
from kernel_gate.verdict import Stage, StageStatus, Verdict


def judged(old: str, new: str) -> Verdict:
    return judge(affine(), affine(old, new, beside=("finish",)), workload(), device="emulated")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "2.0f * x[i] + 1.0f",
            "2.0f * x[i]",
            "finish, launched beside affine, was not run; without it y[0, 0] = ",
        ),
        ("y[i] =", "if (i % 2) y[i] =", "was not run; without it y[0, 0] = NaN (not written)"),
        ("2.0f * x[i] + 1.0f", "1.0f + 2.0f * x[i]", "finish, launched beside affine, was not run; "),
    ],
)
def test_what_one_of_several_kernels_leaves_to_the_others_is_undecided(old, new, words):
    verdict = judged(old, new)
    assert (verdict.standing, verdict.code) == (Standing.UNDECIDED, Reason.WORK_BESIDE)
    assert words in verdict.reason


def test_no_other_kernel_makes_an_access_out_of_bounds_right():
    verdict = judged("if (i < n) ", "")
    assert (verdict.standing, verdict.code) == (Standing.REJECTED, Reason.OUT_OF_BOUNDS)


def test_a_kernel_that_is_as_it_was_may_be_given_larger_buffers():
    outside = Stage(name="check", status=StageStatus.FAIL, code=Reason.OUT_OF_BOUNDS, reason="out of bounds")
    (stage,) = judged_alone([outside], affine(), affine(beside=("finish",)))
    assert (stage.status, stage.code) == (StageStatus.UNAVAILABLE, Reason.WORK_BESIDE)


def test_two_calls_are_not_slower_than_one():
    slower = Stage(name="profile", status=StageStatus.FAIL, code=Reason.SLOWER, reason="slower: 0.6×")
    (twice,) = judged_alone([slower], affine(), affine(calls=2))
    assert (twice.status, twice.code) == (StageStatus.UNAVAILABLE, Reason.NOT_PROFILED)
    assert twice.reason == "not profiled: 2 calls of the candidate were timed; slower: 0.6×"
    assert judged_alone([slower], affine(calls=2), affine(calls=2)) == [slower]


def test_what_is_launched_on_some_calls_alone_decides_nothing_unless_it_is_wrong():
    right = judge(affine(), affine(skipped_where=("seen > 8",)), workload(), device="emulated")
    assert (right.standing, right.code) == (Standing.UNDECIDED, Reason.LAUNCH_SKIPPED)
    assert "by `seen > 8` the host code decides from call to call" in right.reason
    wrong = judge(
        affine(), affine("2.0f * x[i]", "x[i]", skipped_where=("seen > 8",)), workload(), device="emulated"
    )
    assert (wrong.standing, wrong.code) == (Standing.REJECTED, Reason.WRONG_VALUE)
