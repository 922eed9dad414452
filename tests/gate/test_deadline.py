"""A deadline holds for whatever is started under it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from gate.programs import affine, workload
from kernel_gate.build.compile import compile_program
from kernel_gate.build.contained_run import run_contained
from kernel_gate.build.errors import BuildError
from kernel_gate.deadline import Threads, TimeSpentError, ends_within, seconds_left
from kernel_gate.gate import judge
from kernel_gate.processor_seconds import processor_seconds
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.stages import build, conditions
from kernel_gate.verdict import Outcome
from kernel_gate.worker import Worker


def test_the_nearest_of_nested_deadlines_counts() -> None:
    assert seconds_left(7.0) == 7.0
    with ends_within(100.0):
        with ends_within(5.0), ends_within(50.0):
            assert 4.0 < seconds_left() <= 5.0
            assert seconds_left(2.0) == 2.0
        assert seconds_left() > 90.0
    with ends_within(-1.0):
        assert seconds_left(2.0) == 0.0


def test_a_contained_program_ends_with_its_callers_time(tmp_path: Path) -> None:
    begun = time.monotonic()
    with ends_within(0.5):
        ran = run_contained(["/bin/sleep", "60"], tmp_path)
    assert ran.status is None
    assert ran.excess.startswith("took longer than 0")
    assert time.monotonic() - begun < 30.0


def test_work_of_threads_has_the_deadline_of_who_submits_it() -> None:
    with Threads(1) as threads:
        with ends_within(5.0):
            assert threads.submit(seconds_left).result() <= 5.0
            assert [left <= 5.0 for left in threads.map(seconds_left, [60.0, 60.0])] == [True, True]
        assert threads.submit(seconds_left, 60.0).result() == 60.0


LONG = "float s = 0.0f; for (int k = 0; n > 96 && k < 1000000000; ++k) s += x[0] * k; if (i < n && s != 0.5f)"
"""In the place of a guard: more than 96 elements take longer than anybody waits."""


@pytest.mark.long
def test_a_verdict_under_a_deadline_names_the_cases_that_agree_and_those_that_do_not_fit() -> None:
    slow = affine("if (i < n)", LONG)
    with ends_within(12.0):
        begun = time.monotonic()
        verdict = judge(slow, slow, workload(), device="emulated")
    assert time.monotonic() - begun < 14.0
    stage = verdict.stage("check")
    assert stage is not None
    assert stage.code is Reason.CASE_TIME_SPENT
    assert stage.reason.startswith(f"{len(stage.details['passed'])} cases agree, but ")
    assert "N 3, C 70," in " ".join(stage.details["unreached"])


def test_what_is_wrong_stays_so_where_no_time_is_left_to_ask_for_which_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def late(*_: object) -> None:
        raise TimeSpentError("no time")

    monkeypatch.setattr(conditions, "needed_of_range", late)
    verdict = judge(affine(), affine("2.0f", "3.0f"), workload(), device="emulated")
    assert verdict.code is Reason.WRONG_VALUE


def test_a_build_has_the_deadline_of_its_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[float] = []

    def built(*_: object, **__: object) -> None:
        left.append(seconds_left())
        raise BuildError("late", code=Reason.COMPILER_LIMIT)

    monkeypatch.setattr(build, "build_program", built)
    with ends_within(50.0):
        judge(affine(), affine(), workload(), device="emulated")
    assert len(left) == 2
    assert max(left) <= 50.0


def test_a_compilation_that_the_deadline_ends_rejects_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def built(*_: object, **__: object) -> None:
        raise BuildError("compiling took longer than 3 s: the time is up", code=Reason.COMPILER_LIMIT)

    monkeypatch.setattr(build, "build_program", built)
    assert (
        judge(affine(), affine("2.0f", "3.0f"), workload(), device="emulated").code is Reason.COMPILER_LIMIT
    )
    with ends_within(0.0):
        verdict = judge(affine(), affine("2.0f", "3.0f"), workload(), device="emulated")
    assert (verdict.outcome, verdict.code) == (Outcome.INCONCLUSIVE, Reason.CASE_TIME_SPENT)
    assert verdict.stages[0].name == "build"
    assert "compiling took longer than 3 s: the time is up" in verdict.reason


def test_a_worker_is_late_by_its_callers_deadline_and_says_so() -> None:
    request = GateRequest.of(affine(), affine(), workload(), device="emulated")
    with Worker() as worker, ends_within(0.0):
        verdict = worker.judge(request, timeout=0.0)
    assert verdict.code is Reason.HANG
    assert verdict.reason.endswith("without a verdict: the time is up")


def test_a_worker_that_is_late_tells_what_passed_and_what_it_was_at(tmp_path: Path) -> None:
    (tmp_path / "oracle.py").write_text("import time\ntime.sleep(1000)\n")
    slow = workload('[oracle]\npython = "oracle.py:affine"\n').model_copy(update={"folder": tmp_path})
    request = GateRequest.of(affine(), affine(), slow, device="emulated").within(100.0)
    with Worker() as worker:
        verdict = worker.judge(request, timeout=10.0)
    assert verdict.code is Reason.HANG
    assert "without a verdict, at case 1 of " in verdict.reason
    assert verdict.stages[0].code is None


def test_seconds_of_work_are_given_back_where_other_work_took_them(monkeypatch: pytest.MonkeyPatch) -> None:
    now, worked = [1000.0], [50.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("kernel_gate.deadline.processor_seconds", lambda: worked[0])
    with ends_within(100.0, of_work=True):
        now[0], worked[0] = 1080.0, 60.0  # 80 by the clock, of which 10 for this work
        assert seconds_left() == 90.0
        with ends_within(30.0):
            now[0], worked[0] = 1130.0, 75.0
            assert seconds_left() == 15.0
            now[0] = 1200.0
            assert seconds_left() == 0.0  # four times 30 by the clock
        now[0], worked[0] = 1390.0, 76.0
        assert seconds_left() == 10.0  # four times 100
        now[0], worked[0] = 1050.0, 250.0  # several processors
        assert seconds_left() == 50.0
    with ends_within(10.0), ends_within(100.0, of_work=True):
        assert seconds_left() == 10.0


def test_what_a_running_child_takes_is_counted() -> None:
    before = processor_seconds()
    burns = "import time\nwhile time.process_time() < 0.5: pass\nprint(flush=True)\ntime.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", burns], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(0.6)  # an answer is good for half a second
        taken = processor_seconds() - before
        child.kill()
    assert taken >= 0.45


def test_a_compilation_that_the_deadline_does_not_leave_time_for_says_what_to_do() -> None:
    with ends_within(0.0), pytest.raises(BuildError, match="the time is up; --seconds gives more"):
        compile_program(affine("if (i < n)", ""), "sm_80")
