"""A study in a process of its own: it asks here, and what it learned comes back."""

from __future__ import annotations

import pytest

from kernel_gate.devices.base import DeviceError
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome, Stage, StageStatus, Verdict
from kernel_lineage.learning.studying import apart
from kernel_lineage.learning.studying.apart import study_apart
from kernel_lineage.learning.studying.study import study
from learning.distillation.test_admission import STEP


def refused(_request: GateRequest) -> Verdict:
    check = Stage(name="check", status=StageStatus.FAIL, code="wrong-value", reason="y[0] = 0, expected 1")
    return Verdict(
        outcome=Outcome.REJECTED, reason=check.reason, stages=[check], environment={}, inputs_hash=""
    )


def test_it_asks_here_and_learns_what_it_would_learn_in_this_process():
    asked: list[GateRequest] = []

    def judge(request: GateRequest) -> Verdict:
        asked.append(request)
        return refused(request)

    there = study_apart(STEP, judge, device="emulated")
    assert there == study(STEP, refused, device="emulated")
    assert there.compound == "the two states agree on no size that the workload names"
    assert asked[0].candidate.source == STEP.after.source


def test_a_missing_device_is_told_there_as_here():
    def judge(_request: GateRequest) -> Verdict:
        raise DeviceError("no GPU can be used:\nnone is visible")

    assert study_apart(STEP, judge, device="emulated").parts == ()


def test_a_process_that_dies_costs_what_the_step_teaches(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(apart, "_MODULE", "no_such_module")
    assert "ended without a result" in study_apart(STEP, refused, device="emulated").compound


def test_what_the_judge_raises_is_raised_here():
    def judge(_request: GateRequest) -> Verdict:
        raise KeyError("as it is")

    with pytest.raises(KeyError, match="as it is"):
        study_apart(STEP, judge, device="emulated")
