"""A study in a process of its own: it asks here, and what it learned comes back."""

from __future__ import annotations

import pytest

from kernel_gate.devices.base import DeviceError
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome, Stage, StageStatus, Verdict
from kernel_lineage.learning.apart import Processes
from kernel_lineage.learning.studying.apart import study_apart
from kernel_lineage.learning.studying.study import study
from learning.distillation.test_admission import STEP


def refused(_request: GateRequest) -> Verdict:
    check = Stage(name="check", status=StageStatus.FAIL, code="wrong-value", reason="y[0] = 0, expected 1")
    return Verdict(
        outcome=Outcome.REJECTED, reason=check.reason, stages=[check], environment={}, inputs_hash=""
    )


@pytest.fixture(scope="module")
def processes():
    with Processes() as processes:
        yield processes


def test_it_asks_here_and_learns_what_it_would_learn_in_this_process(processes):
    asked: list[GateRequest] = []

    def judge(request: GateRequest) -> Verdict:
        asked.append(request)
        return refused(request)

    there = study_apart(STEP, judge, processes, device="emulated")
    assert there == study(STEP, refused, device="emulated")
    assert there.compound == "the two states agree on no size that the workload names"
    assert asked[0].candidate.source == STEP.after.source


def test_a_missing_device_is_told_there_as_here(processes):
    def judge(_request: GateRequest) -> Verdict:
        raise DeviceError("no GPU can be used:\nnone is visible")

    assert study_apart(STEP, judge, processes, device="emulated") == study(STEP, judge, device="emulated")
