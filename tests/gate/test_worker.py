"""The gate in a process of its own: hangs, deaths and cancels cost one verdict."""

import json
import re
import subprocess
import sys

import pytest

from gate.programs import affine, workload
from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import LaunchSpec
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome, StageStatus
from kernel_gate.worker import Worker, _Watch, run_in_child


@pytest.fixture
def hanging(tmp_path) -> GateRequest:
    """A request whose oracle never answers."""
    (tmp_path / "oracle.py").write_text("import time\ntime.sleep(1000)\n")
    slow = workload('[oracle]\npython = "oracle.py:affine"\n').model_copy(update={"folder": tmp_path})
    return GateRequest.of(affine(), affine(), slow, device="emulated")


def request(candidate=None, **rest) -> GateRequest:
    return GateRequest.of(affine(), candidate or affine(), workload(), device="emulated", **rest)


def test_a_program_survives_the_way_to_the_process():
    program = affine(
        launch=LaunchSpec(("1",), ("32",), constexpr={"B": "2"}),
        defines={"A": "1"},
        arguments=("y", "x", "n"),
    )
    again = GateRequest.model_validate_json(request(program).model_dump_json())
    assert again.candidate == program


def test_the_verdict_is_that_of_the_gate_itself():
    steps: list[str] = []
    asked = request(options=GateOptions(seed=7))
    ours = run_in_child(asked, on_progress=lambda stage, what, share: steps.append(stage))
    here = judge(affine(), affine(), workload(), device="emulated", options=asked.options)
    assert [stage.model_copy(update={"seconds": None}) for stage in ours.stages] == [
        stage.model_copy(update={"seconds": None}) for stage in here.stages
    ]
    assert all((stage.seconds is None) == (stage.status is StageStatus.SKIPPED) for stage in ours.stages[:2])
    assert ours.inputs_hash == here.inputs_hash
    assert steps[0] == "build" and "check" in steps


@pytest.mark.long
def test_a_hang_is_ended_and_said(hanging):
    verdict = run_in_child(hanging, timeout=8.0)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    at = r"at case 1 of \d+: N 1, C 32, seed \d+"
    why = "the kernel hangs, or it needs more time"
    assert re.fullmatch(f"check: ended after 8 s without a verdict, {at}: {why}", verdict.reason)
    codes = [Reason.RESULT_LOST, Reason.HANG, Reason.RUN_ENDED, Reason.RUN_ENDED]
    assert verdict.code is Reason.HANG and [stage.code for stage in verdict.stages] == codes
    assert [s.status for s in verdict.stages][1:3] == [StageStatus.UNAVAILABLE, StageStatus.SKIPPED]


def test_a_cancelled_run_is_ended_and_said(hanging):
    verdict = run_in_child(hanging, cancelled=lambda: True)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.code is Reason.CANCELLED and "cancelled" in verdict.reason


def test_a_process_that_dies_is_said():
    greedy = request(options=GateOptions(seed=-1))
    verdict = run_in_child(greedy)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.code is Reason.WORKER_DIED and "died (status 1)" in verdict.reason


def test_a_request_that_cannot_be_read_is_wrong_use():
    done = subprocess.run(
        [sys.executable, "-m", "kernel_gate"], input=b"{}", capture_output=True, check=False
    )
    assert done.returncode == 2
    assert b"baseline" in done.stderr


def test_stdout_is_the_verdict_and_nothing_else():
    text = request(affine("2.0f", "3.0f")).model_dump_json().encode()
    done = subprocess.run([sys.executable, "-m", "kernel_gate"], input=text, capture_output=True, check=False)
    assert json.loads(done.stdout)["outcome"] == "rejected"
    assert done.returncode == 1


def test_a_worker_keeps_its_process_until_something_ends_it(hanging):
    with Worker() as worker:
        assert worker.judge(request()).code is Reason.NOT_PROFILED
        first = worker.process_id
        assert worker.judge(request(affine("2.0f", "3.0f"))).code is Reason.WRONG_VALUE
        assert worker.process_id == first
        assert worker.judge(hanging, timeout=2.0).code is Reason.HANG
        assert worker.process_id is None
        assert worker.judge(request()).code is Reason.NOT_PROFILED
        assert worker.process_id != first
    assert worker.process_id is None


def test_a_process_that_leaves_after_its_verdict_gets_no_other_request():
    with Worker() as worker:
        for _ in range(2):
            verdict = worker.judge(request().model_copy(update={"last": True}))
            assert verdict.code is Reason.NOT_PROFILED
            assert worker.process_id is None


def test_a_death_notice_names_the_exception_and_not_what_the_driver_said_after_it():
    watch = _Watch(None)
    for line in (
        "Traceback (most recent call last):",
        "pycuda._driver.LogicError: misaligned address",
        "PyCUDA WARNING",
    ):
        watch.message(line)
    assert watch.last_words() == ": pycuda._driver.LogicError: misaligned address"
