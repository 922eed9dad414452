"""A recording, replayed: on a driver that computes nothing, so that what is asked of it is seen."""

import json
import os
import subprocess
import sys

import pytest

from gate.devices.fake_driver import FakeDriver, install
from gate.programs import affine, workload
from gate.sanitizer.test_watching import CASES
from kernel_gate.build.compile import compile_program
from kernel_gate.built import Built
from kernel_gate.sanitizer import replay
from kernel_gate.sanitizer.recording import ASKED, DONE, write_whole
from kernel_gate.sanitizer.watching import record


@pytest.fixture(scope="module")
def recording():
    built = Built(affine(), compile_program(affine(), "sm_90", want_cubin=True))
    return record(built, workload(), CASES)


def replayed(monkeypatch, tmp_path, recording, driver: FakeDriver) -> dict:
    install(monkeypatch, driver)
    recording.save(tmp_path)
    write_whole(tmp_path / ASKED, str(tmp_path))
    replay.main(tmp_path, os.getpid())
    return json.loads((tmp_path / DONE).read_text())


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


def test_it_ends_with_the_gate_when_nothing_was_asked(monkeypatch, tmp_path):
    install(monkeypatch, FakeDriver())
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    replay.main(tmp_path, gone.pid)
    assert not (tmp_path / DONE).exists()
