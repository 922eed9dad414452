"""Processes that work apart and ask for verdicts here: what comes back, and what a lost one costs."""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path

import pytest

from kernel_gate.devices.base import DeviceError
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome, Verdict
from kernel_lineage.learning.apart import LostWorkError, Processes
from kernel_lineage.learning.steps import Judge
from learning.distillation.test_admission import STEP

WORK = """
import os, tempfile
from kernel_gate.request import GateRequest

def work(task, ask):
    kind, _, rest = task.partition(" ")
    if kind == "ask":
        return ask("judge", GateRequest.model_validate_json(rest)).reason
    if kind == "print":
        print("=not the answer")
        return "the answer"
    if kind == "file":
        return tempfile.mkstemp()[1]
    if kind == "die":
        os._exit(7)
    if kind == "raise":
        raise KeyError("of a task")
    return str(os.getpid())
"""
REQUEST = GateRequest.of(STEP.before, STEP.after, STEP.workload, device="emulated")


def says(reason: str):
    return lambda _request: Verdict(
        outcome=Outcome.REJECTED, reason=reason, stages=[], environment={}, inputs_hash=""
    )


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("work")
    (folder / "told_work.py").write_text(WORK)
    sys.path.append(str(folder))
    try:
        with Processes() as processes:
            yield processes
    finally:
        sys.path.remove(str(folder))


def do(processes: Processes, task: str, judge: Judge | None = None) -> str:
    return processes.do("told_work", task, {"judge": judge or says("nobody asks")})


def test_a_task_asks_here_and_its_result_comes_back(processes):
    question = f"ask {REQUEST.model_dump_json()}"
    assert do(processes, question, says("y[0] = ∞\u2028 of two lines")) == "y[0] = ∞\u2028 of two lines"


def test_one_process_does_one_task_after_another(processes):
    assert do(processes, "pid") == do(processes, "pid")


def test_what_is_printed_there_is_no_answer(processes):
    assert do(processes, "print") == "the answer"


def test_a_process_that_dies_costs_its_task_alone(processes):
    with pytest.raises(LostWorkError, match="status 7"):
        do(processes, "die")
    assert do(processes, "pid").isdigit()


def test_what_a_task_raises_is_the_reason(processes):
    with pytest.raises(LostWorkError, match="KeyError: 'of a task'"):
        do(processes, "raise")


@pytest.mark.parametrize("error", [DeviceError("no GPU\ncan be used"), KeyError("as it is")])
def test_what_the_judge_raises_is_raised_here(processes, error):
    def judge(_request: GateRequest) -> Verdict:
        raise error

    with pytest.raises(type(error)) as raised:
        do(processes, f"ask {REQUEST.model_dump_json()}", judge)
    assert raised.value is error


def test_closing_ends_what_is_running_and_removes_what_it_left(processes):
    asked, ended = threading.Event(), threading.Event()

    def judge(request: GateRequest) -> Verdict:
        asked.set()
        assert ended.wait(60)
        return says("too late")(request)

    lost: list[Exception] = []

    def work() -> None:
        try:
            do(own, f"ask {REQUEST.model_dump_json()}", judge)
        except LostWorkError as error:
            lost.append(error)

    with Processes() as own:
        left = Path(do(own, "file"))
        assert left.exists()
        thread = threading.Thread(target=work)
        thread.start()
        assert asked.wait(60)
    ended.set()
    thread.join(60)
    assert not left.exists()
    assert f"status {-signal.SIGKILL}" in str(lost[0])
    with pytest.raises(LostWorkError, match="the run was ended"):
        do(own, "pid")
