"""Verdicts of another machine over ssh; it is a stand-in: a process of this machine behind an `ssh` of ours."""

import json
import os
import resource
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from gate.fleet.stand_in_ssh import OtherMachine
from gate.programs import affine, workload
from kernel_gate.devices.base import DeviceError
from kernel_gate.fleet import over_ssh
from kernel_gate.fleet.answering import Hello, Reply
from kernel_gate.fleet.elsewhere import elsewhere
from kernel_gate.fleet.over_ssh import Host
from kernel_gate.fleet.travelling import ClusterError, gate_fingerprint, judged
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest, ProgressLine
from kernel_gate.worker import Worker

ORACLE = "import numpy as np\n\n\ndef affine(x, n):\n    return {'y': 2.0 * x.astype(np.float64) + 1.0}\n"


@pytest.fixture
def other(tmp_path, monkeypatch):
    made = OtherMachine(tmp_path)
    monkeypatch.setenv("PATH", f"{made.programs}:{os.environ['PATH']}")
    return made


@pytest.mark.long
def test_the_verdict_is_the_other_machines_and_only_programs_and_workload_are_sent(other, tmp_path):
    folder = tmp_path / "workloads"
    folder.mkdir()
    (folder / "oracle.py").write_text(ORACLE)
    (folder / "private.txt").write_text("not yours")
    described = workload('[oracle]\npython = "oracle.py:affine"\n').model_copy(update={"folder": folder})
    wrong = GateRequest.of(affine(), affine("2.0f", "3.0f"), described, device="emulated")
    right = GateRequest.of(affine(), affine(), workload(), device="emulated")
    seen = []
    with elsewhere("ssh://me@gpu-box") as pool:
        assert pool.judge(wrong, on_progress=lambda *status: seen.append(status)).code == Reason.WRONG_VALUE
        assert pool.judge(right).code == Reason.NOT_PROFILED
        with pytest.raises(DeviceError, match="gpu-box"):
            pool.judge(right.model_copy(update={"device": "cuda"}))
    assert seen
    [connection] = other.log.read_text().splitlines()
    assert connection.endswith("me@gpu-box klineage judge")
    first, *_ = [json.loads(line) for line in other.sent.read_text().splitlines()]
    assert set(first) == {"request", "files", "timeout"}
    assert set(first["files"]) == {"oracle.py"}
    assert str(folder) not in first["request"]


@pytest.mark.long
def test_cancelling_ends_what_runs_there(other):
    request = GateRequest.of(affine(), affine(), workload(), device="emulated")
    with elsewhere("ssh://gpu-box") as pool:
        assert pool.judge(request, cancelled=lambda: other.sent.stat().st_size > 0).code == Reason.CANCELLED
    pid = int(other.log.read_text().split()[0])
    end = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.long
def test_another_gate_is_not_asked(other, monkeypatch):
    monkeypatch.setattr("kernel_gate.fleet.over_ssh.gate_fingerprint", lambda: "0" * 64)
    request = GateRequest.of(affine(), affine(), workload(), device="emulated")
    with pytest.raises(ClusterError, match="install the same version"), elsewhere("ssh://gpu-box") as pool:
        pool.judge(request)
    assert other.sent.read_bytes() == b""


@pytest.mark.long
def test_a_verdict_about_other_inputs_is_refused(other, monkeypatch):
    monkeypatch.setattr("kernel_gate.fleet.over_ssh.inputs_hash_of", lambda _request: "0" * 64)
    request = GateRequest.of(affine(), affine(), workload(), device="emulated")
    with pytest.raises(ClusterError, match="about other inputs"), elsewhere("ssh://gpu-box") as pool:
        pool.judge(request)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("ssh://far-away", "Could not resolve hostname"),
        ("ssh://box/no/such/klineage", "not found|No such file"),
    ],
)
def test_a_machine_that_does_not_answer(other, address, message):
    request = GateRequest.of(affine(), affine(), workload(), device="emulated")
    with pytest.raises(ClusterError, match=message), elsewhere(address) as pool:
        pool.judge(request)


def test_a_file_that_cannot_travel_is_said_before_anything_is_started(other, tmp_path):
    outside = workload('[oracle]\npython = "../oracle.py:affine"\n').model_copy(update={"folder": tmp_path})
    with pytest.raises(ClusterError, match="put it beside the workload"), elsewhere("ssh://gpu-box") as pool:
        pool.judge(GateRequest.of(affine(), affine(), outside, device="emulated"))
    assert other.log.read_text() == ""


def test_an_address_names_a_machine_and_its_program():
    assert Host.parse("ssh://Box") == Host("Box")
    assert Host.parse("ssh://me@10.0.0.5:2222/opt/k l/klineage") == Host(
        "me@10.0.0.5", 2222, "/opt/k l/klineage"
    )
    words = Host.parse("ssh://me@box:2222/opt/k l/klineage").command("/usr/bin/ssh")
    assert words[-5:] == ["-p", "2222", "--", "me@box", "'/opt/k l/klineage' judge"]


@pytest.mark.parametrize(
    "address",
    ["ssh://", "ssh://-oProxyCommand=x", "ssh://-me@box", "ssh://box:port", "ssh://me:pass@box", "ssh://a b"],
)
def test_what_is_no_address_is_refused(address):
    with pytest.raises(ClusterError, match="is no address"):
        Host.parse(address)


@pytest.mark.parametrize("name", ["a\0b", "", ".", "x" * 5000, "../x", "/etc/x"])
def test_a_name_that_no_file_of_a_workload_has_is_refused(name):
    with pytest.raises(ClusterError, match=r"no name|cannot be written|outside"):
        judged(Worker(), "{}", {"before": b"", name: b""}, 5.0)


def test_a_file_in_the_place_of_a_folder_is_refused():
    with pytest.raises(ClusterError, match="no name"):
        judged(Worker(), "{}", {"a": b"", "a/b": b""}, 5.0)


GREETS = "print(sys.argv[1], flush=True)\n"
FLOODS = {
    "lines before it says who it is": "while True: sys.stdout.write('x' * 10**6 + '\\n')",
    "a line without an end": "while True: sys.stdout.write('x' * 10**6)",
    "what it is at, for ever": GREETS + "while True: print(sys.argv[2], flush=True)",
    "lines without an end once it is asked": GREETS + "while True: sys.stdout.write('x' * 10**6)",
    "nothing, and reads nothing": GREETS + "time.sleep(600)",
    "its other stream, for ever": GREETS + "while True: sys.stderr.write('x' * 10**6)",
}


@pytest.mark.parametrize("flood", FLOODS)
def test_a_machine_that_floods_or_says_nothing_is_given_up_in_time(monkeypatch, flood):
    hello = Hello(gate=gate_fingerprint(), version="0").model_dump_json()
    at = Reply(progress=ProgressLine(stage="check", what="x" * 10_000, share=0.5)).model_dump_json()
    command = [sys.executable, "-c", f"import sys, time\n{FLOODS[flood]}", hello, at]
    monkeypatch.setattr(Host, "command", lambda *_: command)
    monkeypatch.setattr(over_ssh, "find_program", lambda _: "ssh")
    monkeypatch.setattr(over_ssh, "_HELLO_SECONDS", 3.0)
    monkeypatch.setattr(over_ssh, "_ANSWER_SECONDS", 1.0)
    long = replace(affine(), source=affine().source + "//" + "x" * (4 << 20))
    request = GateRequest.of(long, affine(), workload(), device="emulated")
    before, began = resident(), time.monotonic()
    with suppress(ClusterError), elsewhere("ssh://gpu-box") as pool:
        assert pool.judge(request, timeout=1.0).code == Reason.WORKER_DIED
    assert time.monotonic() - began < 20
    assert resident() - before < 600 << 20


def resident() -> int:
    """Bytes of this process in memory, at most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
