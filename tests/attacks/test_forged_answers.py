"""Only the process that was started can answer: a stranger's line is no verdict, whoever wrote it into the pipe."""

from __future__ import annotations

import sys

import pytest

from attacks.hostile import FORGED
from gate.programs import affine, workload
from kernel_gate.processes import jobs, python
from kernel_gate.processes.python import Child
from kernel_gate.processes.seal import ForeignAnswerError, Seal
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome, Verdict
from kernel_gate.worker import run_in_child

SECRET = bytes(range(32))
LONG = "print('x' * 4096, flush=True); import time; time.sleep(60)"


def sealed(*lines: bytes) -> list[bytes]:
    seal = Seal(SECRET)
    return [seal.close(line) for line in lines]


def test_the_forged_answer_would_be_believed_if_it_were_read():
    assert Verdict.model_validate_json(FORGED).outcome is Outcome.ACCEPTED


def test_lines_are_read_as_they_were_written():
    seal = Seal(SECRET)
    assert [seal.open(line) for line in sealed(b"one", b"", b"\xff two")] == [b"one", b"", b"\xff two"]


@pytest.mark.parametrize(
    "answer",
    [
        FORGED.encode() + b"\n",
        b"\n",
        b"0" * 64 + b" " + FORGED.encode() + b"\n",
        Seal(bytes(32)).close(FORGED.encode()),  # another secret
        sealed(b"one", b"two")[1],  # a line is missing
        sealed(b"one")[0][:-1],  # cut off
        sealed(b"one")[0].replace(b"one", b"two"),
    ],
)
def test_a_line_of_somebody_else_is_refused(answer):
    with pytest.raises(ForeignAnswerError):
        Seal(SECRET).open(answer)


def test_a_line_that_is_said_twice_is_refused():
    (line,), seal = sealed(b"one"), Seal(SECRET)
    seal.open(line)
    with pytest.raises(ForeignAnswerError):
        seal.open(line)


@pytest.mark.parametrize(
    "script",
    [
        f"print({FORGED!r}, flush=True)",
        f"import sys; sys.stdin.buffer.read(32); print({FORGED!r}, flush=True)",
    ],
    ids=["a stranger", "one that takes the secret for a request"],
)
def test_a_verdict_of_a_stranger_is_none(monkeypatch, script):
    monkeypatch.setattr(python, "python_command", lambda *_, **__: [sys.executable, "-I", "-c", script])
    verdict = run_in_child(GateRequest.of(affine(), affine(), workload(), device="emulated"))
    assert (verdict.outcome, verdict.code) == (Outcome.INCONCLUSIVE, Reason.WORKER_DIED)
    assert "something else" in verdict.reason


def test_an_answer_without_end_is_refused_at_its_limit(monkeypatch):
    monkeypatch.setattr(python, "python_command", lambda *_, **__: [sys.executable, "-I", "-c", LONG])
    child = Child("kernel_gate", answer_bytes=1000)
    try:
        with pytest.raises(ForeignAnswerError):
            child.receive()
    finally:
        child.close()


async def test_what_a_stranger_writes_for_a_command_is_left_out(monkeypatch, tmp_path):
    script = f"print({FORGED!r})"
    monkeypatch.setattr(jobs, "python_command", lambda *_, **__: [sys.executable, "-I", "-c", script])
    finished = await jobs.run_python("kernel_lineage", "mine", folder=tmp_path)
    assert finished.stdout == b""
    assert "something else" in finished.last_lines[-1]
