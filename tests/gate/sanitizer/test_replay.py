"""A recording, replayed: on a driver that computes nothing, so that what is asked of it is seen."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gate.devices.fake_driver import FakeDriver, install
from gate.programs import affine, workload
from gate.sanitizer.test_watching import CASES
from kernel_gate.build.compile import compile_program
from kernel_gate.built import Built
from kernel_gate.devices.cuda_context import CudaContext
from kernel_gate.sanitizer import replay
from kernel_gate.sanitizer.recording import ASKED, DONE, LEAVE, write_whole
from kernel_gate.sanitizer.watching import record


@pytest.fixture(scope="module")
def recording():
    built = Built(affine(), compile_program(affine(), "sm_90", want_cubin=True))
    return record(built, workload(), CASES)


def replayed(monkeypatch, tmp_path, recording, driver: FakeDriver) -> dict:
    install(monkeypatch, driver)
    recording.save(tmp_path)
    return replay.replay(CudaContext(), tmp_path)


def test_every_launch_is_made_on_buffers_of_its_own(monkeypatch, tmp_path, recording):
    done = replayed(monkeypatch, tmp_path, recording, FakeDriver())
    assert (done["launches"], done["failed"]) == (2, "")
    assert len(set(done["addresses"])) == 4


def test_the_first_launch_that_fails_is_the_last(monkeypatch, tmp_path, recording):
    driver = FakeDriver(launch="cuEventQuery failed: an illegal memory access was encountered")
    done = replayed(monkeypatch, tmp_path, recording, driver)
    assert done["launches"] == 1
    assert "illegal memory access" in done["failed"]


def test_an_image_that_is_refused_is_said(monkeypatch, tmp_path, recording):
    done = replayed(monkeypatch, tmp_path, recording, FakeDriver(load="device kernel image is invalid"))
    assert done["launches"] == 0
    assert "the driver does not take this image" in done["failed"]


def test_one_process_replays_one_recording_after_the_other_until_it_is_told_to_leave(
    monkeypatch, tmp_path, recording
):
    install(monkeypatch, FakeDriver())
    recording.save(tmp_path)
    requests = [tmp_path, tmp_path, None]
    monkeypatch.setattr(replay, "_asked", lambda out, gate: requests.pop(0))
    answers = []
    monkeypatch.setattr(replay, "write_whole", lambda path, text: answers.append((path, json.loads(text))))
    replay.main(tmp_path, os.getpid())
    assert [(path.name, done["launches"], done["failed"]) for path, done in answers] == [(DONE, 2, "")] * 2


def test_a_process_for_one_recording_ends_with_it(monkeypatch, tmp_path, recording):
    install(monkeypatch, FakeDriver())
    recording.save(tmp_path)
    write_whole(tmp_path / ASKED, str(tmp_path))
    replay.main(tmp_path, os.getpid(), once=True)
    assert json.loads((tmp_path / DONE).read_text())["launches"] == 2


def test_what_is_asked_is_taken_once(tmp_path):
    write_whole(tmp_path / ASKED, "recorded")
    assert replay._asked(tmp_path, os.getpid()) == Path("recorded")
    write_whole(tmp_path / ASKED, LEAVE)
    assert replay._asked(tmp_path, os.getpid()) is None
    assert not (tmp_path / ASKED).exists()


def test_it_ends_with_the_gate_when_nothing_was_asked(monkeypatch, tmp_path):
    install(monkeypatch, FakeDriver())
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    replay.main(tmp_path, gone.pid)
    assert not (tmp_path / DONE).exists()
